/* floor_server: answers every line on stdin that has an id with the same 1 KiB, without parsing it.
 *
 * With this server, stdio_driver measures only the cost of the pipes and of the driver itself: a
 * lower bound for any server.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { IN_SIZE = 64 * 1024, TEXT_SIZE = 1024, REPLY_SIZE = TEXT_SIZE + 256, MAX_ID = 32 };

static char out[IN_SIZE / 32 * REPLY_SIZE]; /* no request is shorter than 32 bytes */

/* Appends the reply to one line. Returns the size of the reply, which is 0 for a notification. */
static size_t answer(const char *line, size_t len, char *to)
{
    static const char key[] = "\"id\":";
    static char text[TEXT_SIZE + 1];
    const char *id = memmem(line, len, key, sizeof(key) - 1);
    if (!id || len < 32) {
        return 0;
    }
    id += sizeof(key) - 1;
    size_t n = strcspn(id, ",}");
    memset(text, 'x', TEXT_SIZE);
    return (size_t)snprintf(
        to, REPLY_SIZE,
        "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"contents\":["
        "{\"uri\":\"mem://one\",\"mimeType\":\"text/plain\",\"text\":\"%s\"}]}}\n",
        n < MAX_ID ? (int)n : MAX_ID, id, text);
}

static int write_all(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(1, bytes, len);
        if (n < 0) {
            return -1;
        }
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

int main(void)
{
    static char in[IN_SIZE + 1];
    size_t have = 0;
    ssize_t n;
    while (have < IN_SIZE && (n = read(0, in + have, IN_SIZE - have)) > 0) {
        size_t made = 0;
        char *line = in, *end;
        have += (size_t)n;
        while ((end = memchr(line, '\n', (size_t)(in + have - line))) != NULL) {
            made += answer(line, (size_t)(end - line), out + made);
            line = end + 1;
        }
        have = (size_t)(in + have - line);
        memmove(in, line, have);
        if (write_all(out, made) < 0) {
            return 1;
        }
    }
    return 0;
}
