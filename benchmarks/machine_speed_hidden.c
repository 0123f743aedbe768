/* Works for some microseconds in one way, and then executes a program: `machine_speed_hidden KIND MICROSECONDS PROGRAM...`.
 * What it does counts as the program's own CPU time.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FAR_BYTES (16u << 20)

static volatile uint64_t sink;

static int64_t cpu_us(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * INT64_C(1000000) + used.tv_nsec / 1000;
}

static void plain(void)
{
    uint64_t sum = sink;
    for (int i = 0; i < 2000; i++)
        sum = sum * 6364136223846793005u + 1442695040888963407u;
    sink = sum;
}

static void cache_misses(void)
{
    static unsigned char *far;
    static uint64_t random = 1;
    if (!far)
        memset(far = malloc(FAR_BYTES), 1, FAR_BYTES);
    for (int i = 0; i < 200; i++) {
        random = random * 6364136223846793005u + far[(random >> 33) % FAR_BYTES];
    }
    sink = random;
}

static void branch_misses(void)
{
    static uint64_t random = 1;
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if (random & 1) { /* the barriers keep the compiler from making arithmetic of it */
            __asm__ volatile("" : "+r"(sum));
            sum += 3;
        } else {
            __asm__ volatile("" : "+r"(sum));
            sum ^= 5;
        }
    }
    sink = sum;
}

static void vectors(void)
{
    static float a[4096], b[4096];
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < 4096; i++)
            a[i] = a[i] * 1.0001f + b[i];
    sink = (uint64_t)a[7];
}

static void system_calls(void)
{
    for (int i = 0; i < 50; i++)
        sink = syscall(SYS_getppid);
}

static void page_faults(void)
{
    static unsigned char *pages;
    if (!pages)
        pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, 1 << 20, MADV_DONTNEED);
    for (int i = 0; i < 1 << 20; i += 4096)
        pages[i] = 1;
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*work)(void);
    } kinds[] = {{"plain", plain},     {"cache-misses", cache_misses}, {"branch-misses", branch_misses},
                 {"vectors", vectors}, {"system-calls", system_calls}, {"page-faults", page_faults}};
    if (count < 4)
        return 2;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(words[1], kinds[i].name)) {
            int64_t end_us = cpu_us() + atoll(words[2]);
            while (cpu_us() < end_us)
                kinds[i].work();
            execvp(words[3], words + 3);
        }
    return 127;
}
