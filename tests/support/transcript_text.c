/* transcript_text.c: eras and {{macros}} of transcripts. */
#include "transcript.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/mcp.h>

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

/* ---- eras ------------------------------------------------------------------------------------ */

#define NEWEST       "2026-07-28" /* as transcripts spell it */
#define FIRST_MODERN "2026-07-28"
const char *revisions[] = {NEWEST, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

size_t read_era(char *words, const char **ret)
{
    size_t n = 0;
    for (char *word = strtok(words, " \t"); word && n < MAX_REVISIONS; word = strtok(NULL, " \t")) {
        bool all = strcmp(word, "all") == 0, both = strcmp(word, "both") == 0;
        bool modern = strcmp(word, "modern") == 0;
        bool legacy = strcmp(word, "legacy") == 0 && (ret[n] = revisions[1]);
        if (strcmp(word, "none") == 0)
            ret[n++] = "none";
        for (size_t i = 0; i < 5 && n < MAX_REVISIONS; i++) {
            if (all || (both && i < 2) || (modern && i == 0) || strcmp(word, revisions[i]) == 0)
                ret[n++] = revisions[i];
        }
        if (legacy) {
            char *rest = strtok(NULL, "");
            size_t more = rest ? read_era(rest, ret + n) : 0;
            return n + (more ? more : 1);
        }
    }
    return n;
}

/* ---- macros ---------------------------------------------------------------------------------- */

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
    {"meta", META_WITH(NEWEST, "{}"), "{}"},
    {"all", META_WITH(NEWEST, ALL), ALL},
    {"caps", ALL, ALL},
    {"tasks", META_WITH(NEWEST, TASKS), "{}"},
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

/* Expands macros for the library's table of revisions: {{revisions}} to all of them, separated by
 * commas, {{served}} to the modern ones as JSON. */
static bool expand_list(const char *name, size_t len, text *ret)
{
    bool words = len == 9 && memcmp(name, "revisions", 9) == 0;
    if (!words && !(len == 6 && memcmp(name, "served", 6) == 0))
        return false;
    const char *quote = words ? "" : "\"";
    add(ret, words ? "" : "[");
    for (size_t i = 0; mcp_revision(i); i++) {
        if (!words && strcmp(mcp_revision(i), FIRST_MODERN) < 0)
            continue;
        add(ret, i == 0 ? "" : words ? ", " : ",");
        add(ret, quote), add(ret, mcp_revision(i)), add(ret, quote);
    }
    add(ret, words ? "" : "]");
    return true;
}

/* Expands {{8*ab}} to 8 times "ab". */
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

/* Expands {{-32602|-32002}}: the first value in modern revisions, the second in legacy ones. */
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

/* Replaces NEWEST by the newest supported revision, from `begin` on. */
static void rename_newest(text *line, size_t begin)
{
    size_t len = strlen(NEWEST);
    if (strlen(revisions[0]) != len || !line->ptr)
        return;
    for (char *at = line->ptr + begin; (at = strstr(at, NEWEST)) != NULL; at += len)
        memcpy(at, revisions[0], len);
}

bool expand(const scene *at, const char *line, text *ret, const char **problem)
{
    size_t named = 0; /* the revisions before this offset were replaced already */
    text_set(ret, "", 0);
    while (*line) {
        if (line[0] != '{' || line[1] != '{' || line[2] == '{') {
            text_add(ret, line++, 1);
            continue;
        }
        const char *body = line + 2, *end = strstr(body, "}}");
        size_t len = end ? (size_t)(end - body) : 0;
        rename_newest(ret, named);
        named = ret->len;
        if (end && expand_list(body, len, ret)) {
            named = ret->len;
        } else if (!end || !(expand_named(at, body, len, ret) || expand_repeat(body, len, ret) ||
                             expand_choice(at, body, len, ret))) {
            *problem = "unknown {{macro}}";
            return false;
        }
        line = end + 2;
    }
    rename_newest(ret, named);
    return true;
}
