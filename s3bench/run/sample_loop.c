/* The loop of sample_loop.py, which says what it is for. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define SAMPLES_MAX 64
#define TORN_NS 100000 /* a read that took this long for each process was interrupted */

struct process {
    int statm;
    int clock;
    int64_t used_ns; /* when last read */
};

struct sampling {
    /* set by the caller */
    struct process *processes;
    long process_count;
    int64_t ended_ns; /* CPU time of processes that are gone */
    int wake, control, loadavg;
    char newest[16]; /* the last process id that is known */
    int64_t step_ns, until_ns, find_due_ns, find_anyway_ns;
    long capacity;
    /* written by the loop */
    int64_t at_ns[SAMPLES_MAX], rss_bytes[SAMPLES_MAX], cpu_ns[SAMPLES_MAX];
    int64_t due_ns, quiet_ns;
    long count;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/* The second number of the file, which is resident pages; -1 when the process is gone. */
static int64_t resident_pages(int statm)
{
    char text[128];
    ssize_t length = pread(statm, text, sizeof text - 1, 0);
    if (length <= 0)
        return -1;
    text[length] = 0;
    const char *digit = strchr(text, ' ');
    int64_t pages = 0;
    for (digit = digit ? digit + 1 : ""; *digit >= '0' && *digit <= '9'; digit++)
        pages = pages * 10 + (*digit - '0');
    return pages;
}

/* Reads all processes; 0 when one of them is gone. */
static int read_processes(struct sampling *sampling, int64_t page_bytes, int64_t *rss_bytes, int64_t *cpu_ns)
{
    *rss_bytes = 0;
    *cpu_ns = sampling->ended_ns;
    for (long i = 0; i < sampling->process_count; i++) {
        struct process *process = &sampling->processes[i];
        struct timespec used;
        int64_t resident = resident_pages(process->statm);
        if (resident < 0 || clock_gettime((clockid_t)process->clock, &used))
            return 0;
        process->used_ns = used.tv_sec * SECOND_NS + used.tv_nsec;
        *rss_bytes += resident * page_bytes;
        *cpu_ns += process->used_ns;
    }
    return 1;
}

/* Whether a process or thread was born anywhere on this machine: the last word of /proc/loadavg tells. */
static int has_grown(const struct sampling *sampling)
{
    char text[96];
    ssize_t length = pread(sampling->loadavg, text, sizeof text - 1, 0);
    if (length <= 0)
        return 1;
    text[length] = 0;
    const char *newest = strrchr(text, ' ');
    return !newest || strcmp(newest + 1, sampling->newest);
}

/* Samples every `step_ns` until a descriptor is readable, a process was born or is gone, `capacity` samples were taken
 * or it is `until_ns`. A birth or a death is left to the caller, whose sample is due at once.
 */
void s3bench_sample(struct sampling *sampling)
{
    struct pollfd watched[] = {{.fd = sampling->wake, .events = POLLIN}, {.fd = sampling->control, .events = POLLIN}};
    const int64_t page_bytes = sysconf(_SC_PAGESIZE), step_ns = sampling->step_ns;
    for (;;) {
        int64_t at_ns = now_ns();
        if (at_ns >= sampling->due_ns) {
            int64_t rss_bytes, cpu_ns, before_ns = at_ns;
            if (before_ns >= sampling->find_due_ns) {
                if (before_ns >= sampling->find_anyway_ns || has_grown(sampling))
                    return;
                sampling->quiet_ns = before_ns;
            }
            if (!read_processes(sampling, page_bytes, &rss_bytes, &cpu_ns))
                return;
            at_ns = now_ns();
            if (at_ns - before_ns > TORN_NS * sampling->process_count) {
                if (!read_processes(sampling, page_bytes, &rss_bytes, &cpu_ns))
                    return;
                at_ns = now_ns();
            }
            sampling->at_ns[sampling->count] = at_ns;
            sampling->rss_bytes[sampling->count] = rss_bytes;
            sampling->cpu_ns[sampling->count++] = cpu_ns;
            int64_t late_ns = at_ns - sampling->due_ns;
            int64_t steps = (late_ns + step_ns - 1) / step_ns;
            sampling->due_ns += step_ns * (steps > 1 ? steps : 1);
            if (sampling->count >= sampling->capacity)
                return;
        }
        if (at_ns >= sampling->until_ns)
            return;
        int64_t next_ns = sampling->due_ns < sampling->until_ns ? sampling->due_ns : sampling->until_ns;
        int64_t left_ns = next_ns > at_ns ? next_ns - at_ns : 0;
        struct timespec left = {left_ns / SECOND_NS, left_ns % SECOND_NS};
        if (ppoll(watched, 2, &left, NULL)) /* readable, or interrupted: the caller sees which */
            return;
    }
}
