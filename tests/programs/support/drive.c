/* drive: sends requests over HTTP on several connections, and counts what became of each.
 *
 *   drive PORT CONNECTIONS FILE [PAUSE_MS]
 *
 * Each connection is a thread that sends the request in FILE (head and body, as they are sent) and
 * reads the answer, again and again, until SIGTERM; it connects again when the connection was closed.
 * The first "@@@@@@@@" in FILE is replaced by a number that no other request has. Prints one line of
 * name=value pairs at the end:
 *   sent      requests
 *   answered  requests with status 200 and a whole answer, which has a result
 *   failed    requests with another answer
 *   closed    requests whose connection was closed before the first byte of the answer
 *   cut       requests whose connection was closed within the answer
 *   refused   attempts to connect that were refused
 *   extra     answers with more bytes than they announced
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static atomic_ulong sent, answered, failed, closed, cut, refused, extra;
static atomic_bool stop;
static char *request;
static size_t request_len;
static unsigned port, pause_ms;

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static void nap(unsigned ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static int open_connection(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval most = {.tv_sec = 60};
    if (fd < 0)
        die("socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    refused++;
    close(fd);
    nap(10);
    return -1;
}

static bool write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

/* Reads one answer. Returns whether the connection can be used again. */
static bool read_answer(int fd)
{
    char text[65536];
    size_t have = 0, want = 0;
    while (!want || have < want) {
        ssize_t n = recv(fd, text + have, sizeof(text) - 1 - have, 0);
        if (n <= 0) {
            if (n < 0 && errno == EAGAIN)
                fprintf(stderr, "drive: no answer within a minute\n");
            (have ? &cut : &closed)[0]++;
            return false;
        }
        have += (size_t)n;
        text[have] = 0;
        const char *end = strstr(text, "\r\n\r\n"), *len = strcasestr(text, "\r\nContent-Length:");
        if (end && len && len < end)
            want = (size_t)(end - text) + 4 + strtoul(len + 17, NULL, 10);
        else if (end || have == sizeof(text) - 1)
            fprintf(stderr, "drive: this answer has no length: %s\n", text), exit(2);
    }
    if (have > want)
        extra++;
    if (strncmp(text, "HTTP/1.1 200 ", 13) == 0 && strstr(text, "\"result\":") &&
        !strstr(text, "\"isError\":true")) {
        answered++;
    } else {
        failed++;
        fprintf(stderr, "drive: %.300s\n", text);
    }
    return have == want && !strcasestr(text, "\r\nConnection: close");
}

static void *run(void *arg)
{
    char *text = malloc(request_len + 1);
    int fd = -1;
    (void)arg;
    while (!stop) {
        if (fd < 0 && (fd = open_connection()) < 0)
            continue;
        memcpy(text, request, request_len + 1);
        char *mark = memmem(text, request_len, "@@@@@@@@", 8), number[9];
        snprintf(number, sizeof(number), "%08lu", (unsigned long)++sent);
        if (mark)
            memcpy(mark, number, 8);
        /* A server may close a connection while this is sent, so the answer is read anyway. */
        (void)write_all(fd, text, request_len);
        if (!read_answer(fd)) {
            close(fd);
            fd = -1;
        }
        if (pause_ms)
            nap(pause_ms);
    }
    if (fd >= 0)
        close(fd);
    free(text);
    return NULL;
}

static void read_request(const char *path)
{
    size_t room = 65536;
    FILE *f = fopen(path, "re");
    request = malloc(room);
    if (!f || !request)
        die(path);
    request_len = fread(request, 1, room - 1, f);
    request[request_len] = 0;
    fclose(f);
}

int main(int argc, char **argv)
{
    pthread_t threads[256];
    sigset_t set;
    int number;
    if (argc < 4)
        return 2;
    port = (unsigned)atoi(argv[1]);
    size_t n = (size_t)atoi(argv[2]);
    read_request(argv[3]);
    pause_ms = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (size_t i = 0; i < n && i < 256; i++)
        if (pthread_create(&threads[i], NULL, run, NULL) != 0)
            die("pthread_create");
    sigwait(&set, &number);
    stop = true;
    for (size_t i = 0; i < n && i < 256; i++)
        pthread_join(threads[i], NULL);
    printf("sent=%lu answered=%lu failed=%lu closed=%lu cut=%lu refused=%lu extra=%lu\n", sent,
           answered, failed, closed, cut, refused, extra);
    return 0;
}
