/* The loop of speed_probe.py, which says what it is for. In C because an interpreter's code that comes back into caches
 * filled by the client costs four times as much at every wake-up, so that a quarter as many probes would be affordable.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64      /* the first so many threads of a client are looked at */
#define LOOKS_MAX 4         /* at most so many of them in one wake-up; the next one begins where this one ended */
#define RELIST_WAKE_UPS 16  /* the threads are listed anew after 1, 2, 4, ... and then each time so many wake-ups */
#define CORE_FIELD 36       /* field 39 of proc_pid_stat(5), counted from the state behind the program's name */

#define TABLE_BYTES 4096
#define CYCLE_LENGTH 32768  /* of 4 bytes each: 128 KiB */
#define CYCLE_STEPS 400
#define LINE_BYTES 64
#define FAR_LINES 16

static unsigned char table[TABLE_BYTES];
static uint32_t cycle[CYCLE_LENGTH];
static uint32_t places[CYCLE_STEPS]; /* those of `cycle` that follow_cycle() goes through */
static unsigned char far_memory[FAR_LINES * 8 * LINE_BYTES] __attribute__((aligned(LINE_BYTES)));
static volatile uint64_t sink; /* so that no work is optimised away */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Fills the tables, once in the life of the process. */
static void prepare_work(void)
{
    static int is_prepared;
    if (is_prepared)
        return;
    is_prepared = 1;
    uint32_t random = 1;
    for (int i = 0; i < TABLE_BYTES; i++) {
        random = random * 1103515245u + 12345u;
        table[i] = random >> 16;
    }
    for (int i = 0; i < CYCLE_LENGTH; i++)
        cycle[i] = i;
    for (int i = CYCLE_LENGTH - 1; i > 0; i--) { /* Sattolo's algorithm: one cycle through all */
        random = random * 1103515245u + 12345u;
        int other = (random >> 8) % i;
        uint32_t kept = cycle[i];
        cycle[i] = cycle[other];
        cycle[other] = kept;
    }
    for (int step = 1; step < CYCLE_STEPS; step++)
        places[step] = cycle[places[step - 1]];
    memset(far_memory, 1, sizeof far_memory);
}

/* Brings the near data into the caches, many lines at a time; the work itself waits for one after the other. */
static uint64_t read_near_data(void)
{
    uint64_t sum = 0;
    for (int step = 0; step < CYCLE_STEPS; step++)
        sum += cycle[places[step]];
    for (int place = 0; place < TABLE_BYTES; place += LINE_BYTES)
        sum += table[place];
    return sum;
}

/* Removes the far lines from all caches, so that reading them does not depend on what the client left there. */
static void flush_far_lines(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    for (int line = 0; line < FAR_LINES; line++) {
        unsigned char *place = far_memory + line * 8 * LINE_BYTES;
#if defined(__x86_64__)
        __asm__ volatile("clflush (%0)" ::"r"(place) : "memory");
#else
        __asm__ volatile("dc civac, %0" ::"r"(place) : "memory");
#endif
    }
#if defined(__x86_64__)
    __asm__ volatile("mfence" ::: "memory");
#else
    __asm__ volatile("dsb sy" ::: "memory");
#endif
#endif
}

/* Loads that wait for memory, one after the other. */
static uint64_t read_far_lines(void)
{
    uint64_t sum = 0;
    for (int line = 0; line < FAR_LINES; line++)
        sum += ((volatile unsigned char *)far_memory)[((line * 7) % FAR_LINES) * 8 * LINE_BYTES + (sum & 1)];
    return sum;
}

/* Loads that wait for the caches of the core. */
static uint64_t follow_cycle(void)
{
    uint64_t sum = 0;
    uint32_t place = 0;
    for (int step = 0; step < CYCLE_STEPS; step++) {
        place = cycle[place];
        sum += place;
    }
    return sum;
}

/* Arithmetic and loads side by side, as many as the core can do at once. */
static uint64_t compute(void)
{
    uint64_t a = 1, b = 2, c = 3, d = 4;
    for (int i = 0; i < 500; i++) {
        a = a * 3 + table[i];
        b = (b ^ a) + 5;
        c += table[table[i]] * UINT64_C(7);
        d = (d << 1) ^ c;
        a += d >> 3;
    }
    return a + b + c + d;
}

/* Branches that depend on data, as those of an interpreter. */
static uint64_t interpret(void)
{
    uint64_t a = 1;
    uint32_t place = 0;
    for (int step = 0; step < 250; step++) {
        unsigned code = table[place % TABLE_BYTES];
        place = place * 5 + code + 1;
        switch (code & 7) {
        case 0: a += code; break;
        case 1: a ^= a << 3; break;
        case 2: a = a & 1 ? a + 7 : a - code; break;
        case 3: a = a * 31 + code; break;
        case 4: place += code; break;
        case 5: a |= code; break;
        case 6: a >>= code > 128; break;
        default: a += place; break;
        }
    }
    return a;
}

static uint64_t near_work(void) { return follow_cycle() + compute() + interpret(); }

/* Does the work once, so that its code and near data are in the caches, and then against the clock. */
static int64_t timed_work_ns(void)
{
    uint64_t result = read_near_data() + near_work();
    flush_far_lines();
    int64_t before_ns = now_ns();
    result += read_far_lines() + near_work();
    int64_t after_ns = now_ns();
    sink = result;
    return after_ns - before_ns;
}

struct client {
    int pid;
    int files[THREADS_MAX]; /* the stat of each thread, open */
    int count;
    int next;
    int wake_ups_until_relist;
    int wake_ups_of_last_list;
};

static void forget_threads(struct client *client)
{
    while (client->count)
        close(client->files[--client->count]);
}

static void list_threads(struct client *client)
{
    char path[96];
    forget_threads(client);
    /* most threads are started early in a client's life, and one that is not listed cannot be followed */
    int wake_ups = client->wake_ups_of_last_list ? 2 * client->wake_ups_of_last_list : 1;
    client->wake_ups_of_last_list = wake_ups < RELIST_WAKE_UPS ? wake_ups : RELIST_WAKE_UPS;
    client->wake_ups_until_relist = client->wake_ups_of_last_list;
    snprintf(path, sizeof path, "/proc/%d/task", client->pid);
    DIR *directory = opendir(path);
    if (!directory)
        return;
    struct dirent *entry;
    while (client->count < THREADS_MAX && (entry = readdir(directory)))
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", client->pid, entry->d_name);
            int file = open(path, O_RDONLY | O_CLOEXEC);
            if (file >= 0)
                client->files[client->count++] = file;
        }
    closedir(directory);
}

/* The core on which a thread of the client runs now; -1 while all that were looked at wait. */
static int running_core(struct client *client)
{
    if (client->wake_ups_until_relist-- <= 0)
        list_threads(client);
    for (int look = 0; look < LOOKS_MAX && look < client->count; look++, client->next++) {
        char text[512];
        ssize_t length = pread(client->files[client->next % client->count], text, sizeof text - 1, 0);
        if (length <= 0)
            continue; /* this thread has ended */
        text[length] = 0;
        char *field = strrchr(text, ')');
        if (!field || field[1] != ' ' || field[2] != 'R')
            continue;
        field += 2;
        for (int i = 0; field && i < CORE_FIELD; i++)
            field = strchr(field + 1, ' ');
        return field ? atoi(field + 1) : -1;
    }
    return -1;
}

/* Probes every `step_ns` until `*is_stopping`, and writes when, and how long the work took. `*probes` counts them; with
 * `capacity` of them every second one is dropped and the rest is probed half as often. `*wake_ups` counts all wake-ups.
 */
void s3bench_probe(int pid, int64_t step_ns, int64_t *at_ns, int64_t *work_ns, long capacity, volatile long *probes,
                   volatile long *wake_ups, const volatile int *is_stopping)
{
    struct client client = {.pid = pid};
    int core_before = -1;
    prepare_work();
    while (!*is_stopping) {
        struct timespec step = {step_ns / 1000000000, step_ns % 1000000000};
        nanosleep(&step, NULL);
        if (*is_stopping)
            break;
        ++*wake_ups;
        int core = running_core(&client);
        if (core < 0 || core >= CPU_SETSIZE)
            continue;
        if (core != core_before) {
            cpu_set_t cores;
            CPU_ZERO(&cores);
            CPU_SET(core, &cores);
            if (sched_setaffinity(0, sizeof cores, &cores)) /* of this thread alone */
                continue;
            core_before = core;
        }
        at_ns[*probes] = now_ns();
        work_ns[*probes] = timed_work_ns();
        if (++*probes == capacity) {
            for (long i = 0; i < capacity / 2; i++) {
                at_ns[i] = at_ns[2 * i + 1];
                work_ns[i] = work_ns[2 * i + 1];
            }
            *probes = capacity / 2;
            step_ns *= 2;
        }
    }
    forget_threads(&client);
}
