/* transcript_text.c: {{macros}} of transcripts. */
#include "transcript.h"

#include <stdio.h>
#include <stdlib.h>

void text_add(text *t, const char *bytes, size_t len)
{
    if (t->cap - t->len <= len) {
        t->cap = (t->len + len + 64) * 2;
        t->ptr = realloc(t->ptr, t->cap);
        if (!t->ptr)
            exit(2);
    }
    if (len)
        memcpy(t->ptr + t->len, bytes, len);
    t->len += len;
    t->ptr[t->len] = 0;
}

void text_set(text *t, const char *bytes, size_t len)
{
    t->len = 0;
    text_add(t, bytes, len);
}

void text_free(text *t)
{
    free(t->ptr);
    *t = (text){0};
}

static void add(text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

#define META(name) "io.modelcontextprotocol/" name
#define META_WITH(revision, capabilities)                        \
    "{\"" META("protocolVersion") "\":\"" revision "\",\"" META( \
        "clientCapabilities") "\":" capabilities                 \
                              ",\"" META(                        \
                                  "clientInfo") "\":{\"name\":\"transcript\",\"version\":\"1\"}}"
#define ALL                                                                  \
    "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":{}}," \
    "\"roots\":{\"listChanged\":true}}"
#define TASKS "{\"extensions\":{\"" META("tasks") "\":{}},\"elicitation\":{},\"sampling\":{}}"
#define END   ",\"resultType\":\"complete\",\"_meta\":{\"" META("serverInfo") "\":...}"

static const struct {
    const char *name, *modern, *legacy;
} macros[] = {
    {"meta", META_WITH("2026-07-28", "{}"), "{}"},
    {"all", META_WITH("2026-07-28", ALL), ALL},
    {"caps", ALL, ALL},
    {"tasks", META_WITH("2026-07-28", TASKS), "{}"},
    {"end", END, ""},
    {"list", ",\"ttlMs\":5000,\"cacheScope\":\"private\"" END, ""},
    {"read", ",\"ttlMs\":0,\"cacheScope\":\"private\"" END, ""},
    {"subscription", META("subscriptionId"), META("subscriptionId")},
};

static bool expand_named(const scene *at, const char *name, size_t len, text *ret)
{
    for (size_t i = 0; i < sizeof(macros) / sizeof(macros[0]); i++) {
        if (strlen(macros[i].name) == len && memcmp(macros[i].name, name, len) == 0) {
            add(ret, at->modern ? macros[i].modern : macros[i].legacy);
            return true;
        }
    }
    if (len == 6 && memcmp(name, "cursor", 6) == 0) {
        text_add(ret, at->cursor.ptr, at->cursor.len);
        return true;
    }
    if (len == 4 && memcmp(name, "task", 4) == 0) {
        text_add(ret, at->task.ptr, at->task.len);
        return true;
    }
    if (len == 5 && memcmp(name, "state", 5) == 0) {
        text_add(ret, at->state.ptr, at->state.len);
        return true;
    }
    if (len == 8 && memcmp(name, "revision", 8) == 0) {
        add(ret, at->revision);
        return true;
    }
    return false;
}

/* {{8*ab}} */
static bool expand_repeat(const char *body, size_t len, text *ret)
{
    char *star;
    unsigned long times = strtoul(body, &star, 10);
    if (star == body || *star != '*')
        return false;
    size_t skip = (size_t)(star + 1 - body);
    for (unsigned long i = 0; i < times; i++)
        text_add(ret, body + skip, len - skip);
    return true;
}

/* {{-32602|-32002}} */
static bool expand_choice(const scene *at, const char *body, size_t len, text *ret)
{
    const char *bar = memchr(body, '|', len);
    if (!bar)
        return false;
    size_t left = (size_t)(bar - body);
    if (at->modern)
        text_add(ret, body, left);
    else
        text_add(ret, bar + 1, len - left - 1);
    return true;
}

bool expand(const scene *at, const char *line, text *ret, const char **problem)
{
    text_set(ret, "", 0);
    while (*line) {
        if (line[0] != '{' || line[1] != '{' || line[2] == '{') {
            text_add(ret, line++, 1);
            continue;
        }
        const char *body = line + 2, *end = strstr(body, "}}");
        size_t len = end ? (size_t)(end - body) : 0;
        if (!end || !(expand_named(at, body, len, ret) || expand_repeat(body, len, ret) ||
                      expand_choice(at, body, len, ret))) {
            *problem = "unknown {{macro}}";
            return false;
        }
        line = end + 2;
    }
    return true;
}
