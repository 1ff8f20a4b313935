/* compare.h: compares exchanges with a server directly and through a server in front of it, for
 * each pair of revisions: that of the caller, and that of the connection between the two servers.
 * The caller must receive the same messages, except for the differences that docs/upstream.md
 * lists.
 *
 * If the revisions differ, the caller gets what a direct caller of the older revision gets, so the
 * direct caller uses the older one. Members that only describe the revision are then ignored.
 */
#ifndef MCP_TESTS_COMPARE_H
#define MCP_TESTS_COMPARE_H

#include "exchanges.h"
#include "support/wait.h"

#include <mcp/sys/json.h>

static const char *const revisions[] = {"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26",
                                        "2024-11-05"};
enum { REVISIONS = sizeof(revisions) / sizeof(revisions[0]) };

/* Two callers: of the server itself (the direct one), and of the server in front of it. */
typedef struct pair {
    /* Sends a message of one of the callers, unless it is NULL. Returns what this caller received
     * since the last call, a line for each message, and waits until there are n of them. */
    const char *(*say)(void *user, bool front, const char *message, size_t n);
    void *user;
    bool modern[2]; /* the era of the direct caller, and that of the other one */
    bool differ;    /* the revisions differ */
    /* Log messages and tasks are compared, too, which both revisions must have. */
    bool logs, tasks;
} pair;

static inline pair pair_of(size_t caller, size_t between)
{
    size_t older = caller > between ? caller : between;
    return (pair){.modern = {older == 0, caller == 0}, .differ = caller != between};
}

static inline const char *direct_revision(size_t caller, size_t between)
{
    return revisions[caller > between ? caller : between];
}

/* ---- what is left out ------------------------------------------------------------------------ */

typedef enum level { MESSAGE, BODY, META } level;

static bool is_key(mcp_str key, const char *const *keys)
{
    for (; *keys; keys++) {
        if (mcp_str_eq(key, mcp_str_from(*keys)))
            return true;
    }
    return false;
}

/* Returns whether a member belongs to the connection between two peers, or to one revision. */
static bool is_of_connection(mcp_str key, level in)
{
    static const char *const members[] = {"\"resultType\"", "\"ttlMs\"", "\"cacheScope\"", NULL};
    static const char prefix[] = "\"io.modelcontextprotocol/";
    if (in == META)
        return key.len >= sizeof(prefix) && memcmp(key.ptr, prefix, sizeof(prefix) - 1) == 0;
    return in == BODY && is_key(key, members);
}

static void add_rest(text *t, mcp_str object, level in)
{
    static const char *const bodies[] = {"\"params\"", "\"result\"", "\"error\"", NULL};
    static const char *const metas[] = {"\"_meta\"", NULL};
    mcp_json_text_iter it = {0};
    mcp_str key, value;
    bool some = false;
    add(t, "{");
    while (mcp_json_text_next(object, &it, &key, &value)) {
        size_t before = t->len;
        bool inner = (in == MESSAGE && is_key(key, bodies)) || (in == BODY && is_key(key, metas));
        if (is_of_connection(key, in))
            continue;
        add(t, "%s%.*s:", some ? "," : "", (int)key.len, key.ptr);
        size_t begin = t->len;
        if (inner && value.ptr[0] == '{')
            add_rest(t, value, in == MESSAGE ? BODY : META);
        else if (in == BODY && mcp_str_eq(value, MCP_STR("-32602"))) /* an unknown resource */
            add(t, "-32002");
        else
            add(t, "%.*s", (int)value.len, value.ptr);
        if (inner && t->len == begin + 2 && value.ptr[0] == '{' &&
            !mcp_str_eq(key, MCP_STR("\"result\"")))
            t->len = before; /* nothing is left */
        else
            some = true;
    }
    add(t, "}");
}

static void add_without(text *t, mcp_str line, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i < line.len;) {
        if (line.len - i >= n && memcmp(line.ptr + i, part, n) == 0)
            i += n;
        else
            t->at[t->len++] = line.ptr[i++];
    }
    t->at[t->len] = 0;
}

/* Returns whether the line only reports a subscription to changes. */
static bool is_dropped(const pair *p, mcp_str line)
{
    static const char *const parts[] = {"\"watched ", "\"id\":8,", "subscriptions/acknowledged",
                                        "notifications/message"};
    static text t;
    t.len = 0;
    add(&t, "%.*s", (int)line.len, line.ptr);
    for (size_t i = 0; i < (p->differ ? 4 : 1); i++) {
        if (strstr(t.at, parts[i]))
            return true;
    }
    return false;
}

/* Adds a line without the names of this server and without the cursor. Writes the cursor to
 * `cursor`. */
static void add_line(const pair *p, text *t, mcp_str line, char cursor[2048])
{
    static const char key[] = "\"nextCursor\":\"";
    static text a, b;
    if (is_dropped(p, line))
        return;
    a.len = b.len = 0;
    /* every tool can be called as a task */
    add_without(&b, line, ",\"execution\":{\"taskSupport\":\"optional\"}");
    add_without(&a, (mcp_str){b.at, b.len}, "mcp+up:");
    b.len = 0;
    add_without(&b, (mcp_str){a.at, a.len}, "up_");
    a.len = 0; /* the names of those who log */
    add_without(&a, (mcp_str){b.at, b.len}, "\"logger\":\"up\",");
    b.len = 0;
    add_without(&b, (mcp_str){a.at, a.len}, "up/");
    char *at = strstr(b.at, key);
    if (at) {
        at += sizeof(key) - 1;
        size_t n = strcspn(at, "\"");
        snprintf(cursor, 2048, "%.*s", (int)n, at);
        memmove(at, at + n, strlen(at + n) + 1);
        b.len -= n;
    }
    if (p->differ)
        add_rest(t, (mcp_str){b.at, b.len}, MESSAGE);
    else
        add(t, "%s", b.at);
    add(t, "\n");
}

static void add_lines(const pair *p, text *t, const char *lines, char cursor[2048])
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        add_line(p, t, (mcp_str){lines, n}, cursor);
        lines += n + 1;
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

static const struct {
    const char *method;
    const char *direct, *front; /* the params of a direct request, and of one to the front server */
} methods[] = {
    {"resources/list", "", ""},
    {"resources/templates/list", "", ""},
    {"prompts/list", "", ""},
    {"tools/list", "", ""},
    {"resources/read", "\"uri\":\"f:/A%20b\",", "\"uri\":\"mcp+up:f:/A%20b\","},
    {"tools/call", "\"name\":\"t\",", "\"name\":\"up_t\","},
    {"prompts/get", "\"name\":\"p\",", "\"name\":\"up_p\","},
    {"completion/complete",
     "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\",\"x\":1.0},\"argument\":{\"name\":\"a\","
     "\"value\":\"\"},",
     "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"up_p\",\"x\":1.0},\"argument\":{\"name\":\"a\","
     "\"value\":\"\"},"},
    {"completion/complete",
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"f:/"
     "{a}\"},\"argument\":{\"name\":\"a\",\"value\":"
     "\"\"},",
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"mcp+up:f:/{a}\"},\"argument\":{\"name\":\"a\","
     "\"value\":\"\"},"},
};
enum { METHODS = sizeof(methods) / sizeof(methods[0]) };

static const char *meta_of(const pair *p, bool front)
{
    return p->modern[front] && p->logs && !p->differ
               ? "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/logLevel\":\"info\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{},"
           : p->modern[front] ? "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                "\"io.modelcontextprotocol/clientCapabilities\":{},"
                              : "";
}

static size_t logs_heard; /* requests of callers of the front server that had log messages */

typedef struct exchange {
    const char *method;
    text params;       /* additional members after those of the method */
    const char *token; /* the progress token; empty if no progress is requested */
} exchange;

/* Makes a request and returns the received lines. Replaces `cursor` by that of the next page. */
static const char *ask(const pair *p, bool front, const exchange *e, const char *own,
                       char cursor[2048], text *got)
{
    static text t;
    t.len = got->len = 0;
    add(&t, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"%s\",\"params\":{%s", e->method, own);
    if (*cursor)
        add(&t, "\"cursor\":\"%s\",", cursor);
    add(&t, "%s\"_meta\":{%s%s\"x\":%zu}}}", e->params.at, meta_of(p, front), e->token,
        strlen(e->params.at));
    cursor[0] = 0;
    const char *lines = p->say(p->user, front, t.at, 1);
    logs_heard += front && strstr(lines, "notifications/message");
    while (!strstr(lines, "\"id\":5")) { /* progress arrives before the answer */
        add_lines(p, got, lines, cursor);
        lines = p->say(p->user, front, NULL, 1);
    }
    add_lines(p, got, lines, cursor);
    return got->at;
}

static void differs(const pair *p, const char *what, uint64_t number, const char *direct,
                    const char *front)
{
    print_error("%s %" PRIu64 ", eras %d %d\n", what, number, p->modern[0], p->modern[1]);
    print_error("directly:\n");
    fputs(direct, stderr);
    print_error("through the other server:\n");
    fputs(front, stderr);
    fail();
}

/* Compares one generated request, with all of its pages. */
static void compare_request(const pair *p)
{
    static const char *const tokens[] = {"", "\"progressToken\":\"\\u0074\",",
                                         "\"progressToken\":9007199254740991,"};
    static exchange e;
    static text a, b;
    char here[2048] = "", there[2048] = "";
    uint32_t n = any(METHODS);
    uint64_t number = any(1u << 30);
    e.method = methods[n].method;
    e.token = tokens[any(3)];
    e.params.len = 0;
    p->say(p->user, false, NULL, 0); /* discards changes that the other caller has caused */
    p->say(p->user, true, NULL, 0);
    add_unknown(&e.params);
    add(&e.params, "\"seed\":%" PRIu64 ",", number);
    uint64_t kept = seed;
    do {
        ask(p, false, &e, methods[n].direct, there, &a);
        ask(p, true, &e, methods[n].front, here, &b);
        if (strcmp(a.at, b.at) != 0)
            differs(p, e.method, number, a.at, b.at);
    } while (*here);
    assert_string_equal(there, "");
    seed = kept;
}

/* ---- changes and cancellation ---------------------------------------------------------------- */

static const char *call(const pair *p, bool front, int id, const char *member, size_t n)
{
    char message[512];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
             "\"%st\",%s,\"_meta\":{%s\"x\":1}}}",
             id, front ? "up_" : "", member, meta_of(p, front));
    return p->say(p->user, front, message, n);
}

/* Waits until the server has this number of watched resources and of held requests. */
static void settle(const pair *p, bool front, size_t watched, size_t held, text *log)
{
    char expected[64], none[2048];
    snprintf(expected, sizeof(expected), "\"watched %zu, held %zu\"", watched, held);
    for (int64_t end = wait_end(); wait_more(end);) {
        const char *lines = call(p, front, 7, "\"count\":1", 1);
        bool there = strstr(lines, expected);
        add_lines(p, log, lines, none);
        if (there)
            return;
    }
    fail_msg("not %s", expected);
}

typedef struct wanted {
    unsigned uris, lists; /* bit sets of the watched URIs and lists */
} wanted;

static void subscribe(const pair *p, bool front, const wanted *w, const char *method, text *log)
{
    char message[512], none[2048];
    for (unsigned i = 0; i < 4; i++) {
        if (!(w->uris >> i & 1))
            continue;
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"resources/%s\",\"params\":{\"uri\":"
                 "\"%sf:/%u\"}}",
                 method, front ? "mcp+up:" : "", i);
        add_lines(p, log, p->say(p->user, front, message, 1), none);
    }
}

static void listen(const pair *p, bool front, const wanted *w, text *log)
{
    static const char *const lists[] = {"\"resourcesListChanged\":true,",
                                        "\"promptsListChanged\":true,",
                                        "\"toolsListChanged\":true,"};
    static text t;
    char none[2048];
    bool some = false;
    t.len = 0;
    add(&t, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"subscriptions/listen\",\"params\":{"
            "\"notifications\":{");
    for (unsigned i = 0; i < 3; i++)
        add(&t, "%s", w->lists >> i & 1 ? lists[i] : "");
    add(&t, "\"resourceSubscriptions\":[");
    for (unsigned i = 0; i < 4; i++) {
        if (w->uris >> i & 1)
            add(&t, "%s\"%sf:/%u\"", some ? "," : "", front ? "mcp+up:" : "", i), some = true;
    }
    add(&t, "]},\"_meta\":{%s\"x\":1}}}", meta_of(p, front));
    add_lines(p, log, p->say(p->user, front, t.at, 1), none);
}

static void cancel(const pair *p, bool front, int id, text *log)
{
    char message[128], none[2048];
    snprintf(
        message, sizeof(message),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
        "%d}}",
        id);
    add_lines(p, log, p->say(p->user, front, message, 0), none);
}

/* Subscribes, causes some changes one after the other, and unsubscribes. */
static void run_changes(const pair *p, bool front, uint64_t number, text *log)
{
    static const char *const changes[] = {"u0", "u1", "u2", "u3", "r", "p", "t"};
    char none[2048], member[32];
    size_t watched = 0;
    seed = number;
    wanted w = {.uris = 1 + any(15), .lists = any(8)};
    uint32_t n = 1 + any(5), chosen[5]; /* the server uses the same generator */
    for (uint32_t i = 0; i < n; i++)
        chosen[i] = any(7);
    if (!p->modern[0] || !p->modern[1])
        w.lists = 7; /* a legacy caller cannot choose */
    for (unsigned i = 0; i < 4; i++)
        watched += w.uris >> i & 1;
    p->say(p->user, front, NULL, 0);
    if (p->modern[front])
        listen(p, front, &w, log);
    else
        subscribe(p, front, &w, "subscribe", log);
    settle(p, front, watched, 0, log);
    for (uint32_t i = 0; i < n; i++) {
        unsigned c = chosen[i];
        bool told = (w.uris | w.lists << 4) >> c & 1;
        snprintf(member, sizeof(member), "\"seed\":%u,\"emit\":\"%s\"", i, changes[c]);
        add_lines(p, log, call(p, front, 4, member, told ? 2 : 1), none);
    }
    if (p->modern[front])
        cancel(p, front, 9, log);
    else
        subscribe(p, front, &w, "unsubscribe", log);
    settle(p, front, 0, 0, log);
}

/* Cancels a request once the server has it. */
static void run_cancel(const pair *p, bool front, text *log)
{
    char none[2048];
    p->say(p->user, front, NULL, 0);
    add_lines(p, log, call(p, front, 6, "\"hold\":1", 0), none);
    settle(p, front, 0, 1, log);
    cancel(p, front, 6, log);
    settle(p, front, 0, 0, log);
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the lines, because the order of an answer and a notification may vary. */
static void sort_lines(text *t)
{
    static text sorted;
    char *lines[256];
    size_t n = 0;
    sorted.len = 0;
    for (char *at = t->at; *at && n < 256; at += strlen(at) + 1) {
        lines[n++] = at;
        at[strcspn(at, "\n")] = 0;
    }
    qsort(lines, n, sizeof(*lines), compare_text);
    for (size_t i = 0; i < n; i++)
        add(&sorted, "%s\n", lines[i]);
    memcpy(t->at, sorted.at, sorted.len + 1);
}

static void compare_changes(const pair *p)
{
    static text log[2];
    uint64_t number = any(1u << 30), kept = seed;
    for (int front = 0; front < 2; front++) {
        log[front].len = 0;
        add(&log[front], "%s", "");
        run_changes(p, front, number, &log[front]);
        sort_lines(&log[front]);
    }
    if (strcmp(log[0].at, log[1].at) != 0)
        differs(p, "changes", number, log[0].at, log[1].at);
    seed = kept;
}

static void compare_cancel(const pair *p)
{
    static text log;
    for (int front = 0; front < 2; front++) {
        log.len = 0;
        add(&log, "%s", "");
        run_cancel(p, front, &log);
        assert_string_equal(log.at, "");
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

#define TASK_META                                                                     \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"                         \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{" \
    "\"io.modelcontextprotocol/tasks\":{}}}}"

/* Finds the line with this id and writes the value of a member of its result, or the result. */
static void result_of(const char *lines, const char *member, text *to)
{
    const char *line = strstr(lines, "\"id\":10,");
    if (!line)
        fail_msg("no answer in %s", lines);
    while (line > lines && line[-1] != '\n')
        line--;
    mcp_str whole = {line, strcspn(line, "\n")}, key, value, result = {0};
    mcp_json_text_iter it = {0}, in = {0};
    to->len = 0;
    add(to, "%s", "");
    while (mcp_json_text_next(whole, &it, &key, &value)) {
        if (mcp_str_eq(key, MCP_STR("\"result\"")) || mcp_str_eq(key, MCP_STR("\"error\"")))
            result = value;
    }
    if (!member)
        add(to, "%.*s", (int)result.len, result.ptr);
    while (member && mcp_json_text_next(result, &in, &key, &value)) {
        if (mcp_str_eq(key, mcp_str_from(member)))
            add(to, "%.*s", (int)value.len, value.ptr);
    }
}

/* Makes a request about a task, and returns its answer. */
static const char *ask_task(const pair *p, bool front, const char *method, const char *params)
{
    static text message;
    message.len = 0;
    add(&message, "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"%s\",\"params\":{%s%s%s}}", method,
        params, p->modern[front] ? "," : "", p->modern[front] ? TASK_META : "");
    const char *lines = p->say(p->user, front, message.at, 1);
    while (!strstr(lines, "\"id\":10,"))
        lines = p->say(p->user, front, NULL, 1);
    return lines;
}

/* Calls the tool as a task and returns the result of the task, as a message. */
static void run_task(const pair *p, bool front, const char *rest, text *got)
{
    static text params, value;
    char id[128], of_task[160];
    params.len = 0;
    add(&params, "\"name\":\"%st\",\"as task\":true,%s%s", front ? "up_" : "", rest,
        p->modern[front] ? "" : ",\"task\":{\"ttl\":60000}");
    const char *lines = ask_task(p, front, "tools/call", params.at);
    const char *at = strstr(lines, "\"taskId\":\"");
    if (!at)
        fail_msg("no task in %s", lines);
    snprintf(id, sizeof(id), "%.*s", (int)strcspn(at + 10, "\""), at + 10);
    snprintf(of_task, sizeof(of_task), "\"taskId\":\"%s\"", id);
    for (int i = 0; i < 1000; i++) {
        lines = ask_task(p, front, "tasks/get", of_task);
        result_of(lines, "\"status\"", &value);
        if (strcmp(value.at, "\"working\"") != 0)
            break;
    }
    bool failed = strcmp(value.at, "\"failed\"") == 0;
    if (p->modern[front])
        result_of(lines, failed ? "\"error\"" : "\"result\"", &value);
    else
        result_of(ask_task(p, front, "tasks/result", of_task), NULL, &value);
    got->len = 0;
    add(got, "{\"id\":10,\"%s\":%s}", failed ? "error" : "result", value.at);
}

static void compare_task(const pair *p)
{
    static text rest, made, a, b;
    char none[2048];
    uint64_t number = any(1u << 30);
    /* the members that differ between revisions, and the id of the task in _meta, are left out */
    pair older = *p;
    older.differ = true;
    rest.len = a.len = b.len = 0;
    add_unknown(&rest);
    add(&rest, "\"seed\":%" PRIu64, number);
    uint64_t kept = seed;
    p->say(p->user, false, NULL, 0);
    p->say(p->user, true, NULL, 0);
    size_t before = exchanges.tasks;
    run_task(p, false, rest.at, &made);
    add_line(&older, &a, (mcp_str){made.at, made.len}, none);
    run_task(p, true, rest.at, &made);
    add_line(&older, &b, (mcp_str){made.at, made.len}, none);
    if (strcmp(a.at, b.at) != 0)
        differs(p, "task", number, a.at, b.at);
    assert_true(exchanges.tasks > before);
    seed = kept;
}

/* Compares this number of exchanges of all kinds. */
static inline void compare_all(const pair *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t kind = any(20);
        if (kind < 3 && p->tasks && any(2))
            compare_task(p);
        else if (kind == 0)
            compare_changes(p);
        else if (kind == 1)
            compare_cancel(p);
        else
            compare_request(p);
    }
}

#endif
