/* process.c: reads times, memory and descriptors of the process from /proc, and adds the
 * version. */
#define _GNU_SOURCE
#include "process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef struct sink {
    void (*add)(mcp_str text, void *arg);
    void *arg;
} sink;

static void put(const sink *to, const char *name, const char *type, const char *help, double value)
{
    char text[300];
    int n = snprintf(text, sizeof(text), "# HELP %s %s\n# TYPE %s %s\n%s %.2f\n", name, help, name,
                     type, name, value);
    if (n > 0 && (size_t)n < sizeof(text))
        to->add((mcp_str){text, (size_t)n}, to->arg);
}

static double seconds(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads the first line of a file. Returns false on failure. */
static bool read_line(const char *path, char *to, int room)
{
    FILE *f = fopen(path, "re");
    bool ok = f && fgets(to, room, f);
    if (f)
        fclose(f);
    return ok;
}

/* Returns the time when the process started, in seconds since 1970, or 0 if it is unknown. */
static double start_time(void)
{
    enum { START = 20 }; /* fields of /proc/self/stat after the name, which may hold any text */
    char line[1024];
    const char *at = read_line("/proc/self/stat", line, sizeof(line)) ? strrchr(line, ')') : NULL;
    for (int i = 0; at && i < START; i++)
        at = strchr(at + 1, ' ');
    if (!at)
        return 0;
    double since_boot = (double)strtoull(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
    return seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) + since_boot;
}

/* Returns the resident memory in bytes, or 0 if it is unknown. */
static double resident(void)
{
    char line[256];
    const char *at = read_line("/proc/self/statm", line, sizeof(line)) ? strchr(line, ' ') : NULL;
    return at ? (double)strtoull(at, NULL, 10) * (double)sysconf(_SC_PAGESIZE) : 0;
}

/* Returns the number of open descriptors, or 0 if it is unknown. */
static size_t open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n ? n - 1 : 0; /* without the descriptor of the folder itself */
}

void process_metrics(void (*add)(mcp_str text, void *arg), void *arg)
{
    const sink to = {add, arg};
    struct rlimit files;
    char text[200];
    int n = snprintf(text, sizeof(text),
                     "# HELP mcp_build_info The version of mcpd.\n# TYPE mcp_build_info gauge\n"
                     "mcp_build_info{version=\"%.60s\"} 1\n",
                     mcp_version());
    add((mcp_str){text, (size_t)n}, arg);
    double start = start_time(), bytes = resident();
    size_t open = open_files();
    if (start > 0)
        put(&to, "process_start_time_seconds", "gauge", "When the process started, since 1970.",
            start);
    put(&to, "process_cpu_seconds_total", "counter", "Time on processors, of all threads.",
        seconds(CLOCK_PROCESS_CPUTIME_ID));
    if (bytes > 0)
        put(&to, "process_resident_memory_bytes", "gauge", "Memory in use.", bytes);
    if (open)
        put(&to, "process_open_fds", "gauge", "Open descriptors.", (double)open);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        put(&to, "process_max_fds", "gauge", "Descriptors that may be open.",
            (double)files.rlim_cur);
}
