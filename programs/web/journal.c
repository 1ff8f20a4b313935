/* journal.c: a ring of messages, limited by number and by bytes. */
#define _GNU_SOURCE
#include "journal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Returns the length of the character at the beginning of a text, or 0 if it is not UTF-8. */
static size_t character(const unsigned char *p, size_t len)
{
    size_t n = p[0] < 0x80   ? 1
               : p[0] < 0xc2 ? 0
               : p[0] < 0xe0 ? 2
               : p[0] < 0xf0 ? 3
               : p[0] < 0xf5 ? 4
                             : 0;
    if (n > len)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool is_long = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool is_odd = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return n > 1 && (is_long || is_odd) ? 0 : n;
}

char *journal_copy(mcp_str text, size_t most, size_t *len)
{
    static const char replacement[] = "\xef\xbf\xbd";
    enum { R = sizeof(replacement) - 1 };
    const unsigned char *p = (const unsigned char *)text.ptr;
    size_t left = text.len < most ? text.len : most, room = left, n = 0;
    char *to = malloc(room + R + 1);
    while (to && left) {
        size_t one = character(p, left);
        if (!one && n + R > most)
            break;
        memcpy(to + n, one ? (const char *)p : replacement, one ? one : R);
        n += one ? one : R;
        p += one ? one : 1;
        left -= one ? one : 1;
        if (n + left > room && to) { /* only after a replacement */
            room = (n + left) * 2;
            char *grown = realloc(to, room + R + 1);
            if (!grown) {
                free(to);
                return NULL;
            }
            to = grown;
        }
    }
    if (to)
        to[n] = 0;
    *len = n;
    return to;
}

static journal_entry *at(const journal *j, uint64_t n)
{
    return &j->items[n % JOURNAL_ENTRIES];
}

static void drop_first(journal *j)
{
    journal_entry *e = at(j, j->first++);
    j->bytes -= e->len;
    free(e->text);
    e->text = NULL;
}

static int64_t clock_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void journal_add(journal *j, const char *server, journal_from from, mcp_str text)
{
    journal_entry e = {.server = server,
                       .from = from,
                       .at = clock_us(CLOCK_REALTIME) / 1000,
                       .us = clock_us(CLOCK_MONOTONIC),
                       .bytes = text.len};
    if (!j->items) {
        j->items = calloc(JOURNAL_ENTRIES, sizeof(*j->items));
        j->first = j->next = 1;
    }
    e.text = j->items ? journal_copy(text, JOURNAL_TEXT, &e.len) : NULL;
    if (!e.text)
        return;
    while (j->first < j->next &&
           (j->next - j->first == JOURNAL_ENTRIES || j->bytes + e.len > JOURNAL_BYTES))
        drop_first(j);
    *at(j, j->next++) = e;
    j->bytes += e.len;
}

static void put_entry(const journal_entry *e, uint64_t n, mcp_json_writer *w)
{
    static const char *const from[] = {"client", "server", "stderr", "gateway"};
    mcp_json_begin_object(w);
    mcp_json_put_uint(w, "n", n);
    mcp_json_put_int(w, "at", e->at);
    mcp_json_put_int(w, "us", e->us);
    mcp_json_put_string(w, "server", e->server);
    mcp_json_put_string(w, "from", from[e->from]);
    mcp_json_put_uint(w, "bytes", e->bytes);
    mcp_json_put_str(w, "message", (mcp_str){e->text, e->len});
    if (e->bytes > JOURNAL_TEXT)
        mcp_json_put_bool(w, "cut", true);
    mcp_json_end(w);
}

void journal_put(const journal *j, uint64_t after, size_t limit, mcp_json_writer *w)
{
    size_t bytes = 0, n = 0;
    mcp_json_put_uint(w, "first", j->items ? j->first : 1);
    mcp_json_put_uint(w, "next", j->items ? j->next : 1);
    mcp_json_put_array(w, "entries");
    uint64_t i = after >= j->first ? after + 1 : j->first;
    for (; j->items && i < j->next && n < limit && bytes < JOURNAL_PAGE_BYTES; i++, n++) {
        put_entry(at(j, i), i, w);
        bytes += at(j, i)->len;
    }
    mcp_json_end(w);
}

void journal_clear(journal *j)
{
    while (j->items && j->first < j->next)
        drop_first(j);
    free(j->items);
    *j = (journal){0};
}
