/* transcript.c: runs the files of tests/transcripts against a server channel, in this process.
 *
 *     transcript_runner [--plain] [--decided] [--newest REVISION] [--dump FILE] TRANSCRIPT...
 *
 * Each section of a file runs normally, and then again for every allocation that it makes, with
 * that allocation failing. In these runs the server must only write valid JSON, free all memory,
 * and serve the next request. --plain skips these runs. With --decided each request waits for a
 * decision of the program, which must make no difference. --newest runs modern sections in that
 * revision. --dump writes every message with its revision and method, for validation against the
 * schema of that revision.
 */
#include "transcript.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "decided.h"
#include "failalloc.h"
#include "fixture.h"

enum { MAX_OUTPUTS = 512 };

typedef struct settings {
    fixture_options server;
    mcp_channel_options channel;
    char principal[64];
} settings;

/* A request that was sent, so that its answer can be dumped with its method. */
typedef struct asked {
    text id, method;
    const char *revision;
} asked;

typedef struct run {
    const char *file;
    int line;
    /* number of the allocation that fails after the server was created, from 1; 0 means none. The
     * output is then not compared. */
    size_t failing;
    bool wrong;
    scene scene;
    failalloc memory;
    mcp_allocator allocator; /* must outlive the server */
    fixture *fixture;
    mcp_channel *channel;
    bool closed;
    int64_t now;
    text outputs[MAX_OUTPUTS];
    size_t n_outputs, next_output;
    bool is_decided;
    decided decided;
    bool served; /* the last request of a run with a failing allocation was answered */
    asked asked[MAX_OUTPUTS];
    size_t n_asked;
    FILE *dump;
} run;

static void complain(run *r, const char *what, const char *detail)
{
    r->wrong = true;
    printf("# %s:%d (%s): %s%s%s\n", r->file, r->line, r->scene.revision, what, *detail ? ": " : "",
           detail);
}

/* ---- output of the server -------------------------------------------------------------------- */

static void text_of(const mcp_json *value, text *ret)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str s = {0};
    mcp_json_add_value(w, value);
    mcp_json_writer_finish(w, &s);
    text_set(ret, s.ptr, s.len);
    mcp_json_writer_free(w);
}

static const asked *find_asked(const run *r, const text *id)
{
    for (size_t i = r->n_asked; i-- > 0;) {
        const asked *a = &r->asked[i];
        if (a->id.len == id->len && memcmp(a->id.ptr, id->ptr, id->len) == 0)
            return a;
    }
    return NULL;
}

static void dump_one(run *r, const mcp_json *message)
{
    const mcp_json *id = mcp_json_get(message, "id");
    mcp_str method = mcp_json_string(mcp_json_get(message, "method"));
    const char *revision = r->scene.revision;
    text id_text = {0}, whole = {0};
    text_of(message, &whole);
    text_of(id, &id_text);
    const asked *a = method.len ? NULL : find_asked(r, &id_text);
    if (a) {
        method = (mcp_str){a->method.ptr, a->method.len};
        revision = a->revision;
    }
    fprintf(r->dump, "{\"revision\":\"%s\",\"method\":\"%.*s\",\"message\":%s}\n", revision,
            (int)method.len, method.ptr ? method.ptr : "", whole.ptr);
    text_free(&whole);
    text_free(&id_text);
}

static void look_at(run *r, const mcp_json *message)
{
    if (!mcp_json_is(message, MCP_JSON_OBJECT) ||
        !mcp_str_eq(mcp_json_string(mcp_json_get(message, "jsonrpc")), MCP_STR("2.0")))
        complain(r, "a message that is no JSON-RPC", "");
    const mcp_json *result = mcp_json_get(message, "result");
    mcp_str cursor = mcp_json_string(mcp_json_get(result, "nextCursor"));
    if (cursor.ptr)
        text_set(&r->scene.cursor, cursor.ptr, cursor.len);
    mcp_str task = mcp_json_string(mcp_json_get(result, "taskId"));
    if (!task.ptr)
        task = mcp_json_string(mcp_json_get(mcp_json_get(result, "task"), "taskId"));
    if (task.ptr)
        text_set(&r->scene.task, task.ptr, task.len);
    mcp_str state = mcp_json_string(mcp_json_get(result, "requestState"));
    if (state.ptr)
        text_set(&r->scene.state, state.ptr, state.len);
    mcp_str id = mcp_json_string(mcp_json_get(message, "id"));
    if (mcp_str_eq(id, MCP_STR("the last question")) && result)
        r->served = true;
    if (r->dump)
        dump_one(r, message);
}

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    run *r = user;
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    const mcp_json_limits limits = {.size = sizeof(limits), .max_bytes = SIZE_MAX / 4};
    (void)channel, (void)exchange;
    if (memchr(message.ptr, '\n', message.len))
        complain(r, "a newline in a message", "");
    if (mcp_json_parse(message, &limits, NULL, &doc, &error) != MCP_OK) {
        complain(r, "a message that is no JSON", error.text);
        return;
    }
    const mcp_json *root = mcp_json_root(doc);
    if (mcp_json_is(root, MCP_JSON_ARRAY)) {
        for (size_t i = 0; i < mcp_json_count(root); i++)
            look_at(r, mcp_json_at(root, i));
    } else {
        look_at(r, root);
    }
    mcp_json_free(doc);
    if (r->n_outputs < MAX_OUTPUTS)
        text_set(&r->outputs[r->n_outputs++], message.ptr, message.len);
}

static void check_outputs(run *r, const char *expected)
{
    if (r->failing)
        return;
    if (r->next_output == r->n_outputs) {
        complain(r, "no message came", "");
        return;
    }
    const text *got = &r->outputs[r->next_output++];
    text why = {0};
    if (!matches(expected, (mcp_str){got->ptr, got->len}, &why)) {
        complain(r, "another message came", why.ptr);
        printf("#   %.2000s\n", got->ptr);
    }
    text_free(&why);
}

static void no_more_outputs(run *r)
{
    for (; !r->failing && r->next_output < r->n_outputs; r->next_output++)
        complain(r, "a message that was not expected", r->outputs[r->next_output].ptr);
}

/* ---- actions of the peer --------------------------------------------------------------------- */

static void tick(run *r)
{
    fixture_set_time(r->fixture, r->now);
    for (int i = 0; i < 4 && !r->closed && mcp_channel_deadline(r->channel) <= r->now; i++)
        mcp_channel_tick(r->channel, r->now);
}

static void pass_time(run *r, int64_t ms)
{
    int64_t end = r->now + ms;
    while (!r->closed && mcp_channel_deadline(r->channel) <= end) {
        int64_t due = mcp_channel_deadline(r->channel);
        r->now = due > r->now ? due : r->now;
        fixture_set_time(r->fixture, r->now);
        mcp_channel_tick(r->channel, r->now);
    }
    r->now = end;
    fixture_set_time(r->fixture, r->now);
}

static void remember_request(run *r, const mcp_json *message)
{
    const mcp_json *id = mcp_json_get(message, "id");
    mcp_str method = mcp_json_string(mcp_json_get(message, "method"));
    if (!id || !method.ptr || r->n_asked == MAX_OUTPUTS)
        return;
    const mcp_json *meta = mcp_json_get(mcp_json_get(message, "params"), "_meta");
    asked *a = &r->asked[r->n_asked++];
    text_of(id, &a->id);
    text_set(&a->method, method.ptr, method.len);
    a->revision = mcp_json_get(meta, "io.modelcontextprotocol/protocolVersion") ? revisions[0]
                                                                                : r->scene.revision;
}

static void send_message(run *r, const char *message)
{
    mcp_json_doc *doc = NULL;
    if (r->dump && mcp_json_parse(mcp_str_from(message), NULL, NULL, &doc, NULL) == MCP_OK) {
        const mcp_json *root = mcp_json_root(doc);
        remember_request(r, root);
        for (size_t i = 0; mcp_json_is(root, MCP_JSON_ARRAY) && i < mcp_json_count(root); i++)
            remember_request(r, mcp_json_at(root, i));
        mcp_json_free(doc);
    }
    no_more_outputs(r);
    if (r->closed)
        return;
    int rc = mcp_channel_receive(r->channel, 0, mcp_str_from(message), r->now);
    if (rc != MCP_OK && !(r->failing && rc == MCP_ENOMEM))
        complain(r, "mcp_channel_receive()", mcp_error_name(rc));
    decided_all(&r->decided);
    tick(r);
}

static void expect_number(run *r, size_t got, const char *expected)
{
    char number[32];
    snprintf(number, sizeof(number), "%zu", got);
    if (!r->failing && strcmp(number, expected) != 0)
        complain(r, "the number is", number);
}

static int add_or_remove(run *r, const char *what, const char *name)
{
    static const struct {
        const char *what;
        int (*add)(fixture *f, const char *name);
        int (*remove)(mcp_server *server, const char *name);
    } kinds[] = {
        {"add-resource", fixture_add_resource, NULL},
        {"add-template", fixture_add_template, NULL},
        {"add-tool", fixture_add_tool, NULL},
        {"add-prompt", fixture_add_prompt, NULL},
        {"remove-resource", NULL, mcp_server_remove_resource},
        {"remove-template", NULL, mcp_server_remove_template},
        {"remove-tool", NULL, mcp_server_remove_tool},
        {"remove-prompt", NULL, mcp_server_remove_prompt},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(what, kinds[i].what) == 0)
            return kinds[i].add ? kinds[i].add(r->fixture, name)
                                : kinds[i].remove(fixture_server(r->fixture), name);
    }
    return MCP_EUNSUPPORTED;
}

static void direct(run *r, const char *directive)
{
    char what[32] = "", argument[256] = "";
    sscanf(directive, "%31s %255s", what, argument);
    mcp_server *server = fixture_server(r->fixture);
    if (strcmp(what, "watched") == 0) {
        expect_number(r, fixture_watched(r->fixture), argument);
        return;
    }
    if (strcmp(what, "lists-watched") == 0) {
        expect_number(r, fixture_list_watched(r->fixture), argument);
        return;
    }
    if (strcmp(what, "cancelled") == 0) {
        expect_number(r, fixture_cancelled(r->fixture), argument);
        return;
    }
    if (strcmp(what, "once") == 0) {
        expect_number(r, (size_t)fixture_once_count(), argument);
        return;
    }
    if (strcmp(what, "complete") == 0) {
        mcp_server_elicitation_complete(server, argument);
        return;
    }
    if (strcmp(what, "in-flight") == 0) {
        expect_number(r, mcp_channel_in_flight(r->channel), argument);
        return;
    }
    no_more_outputs(r);
    if (strcmp(what, "time") == 0)
        pass_time(r, atoll(argument));
    else if (strcmp(what, "change") == 0)
        mcp_server_resource_updated(server, argument);
    else if (strcmp(what, "list-changed") == 0)
        mcp_server_resources_changed(server);
    else if (strcmp(what, "finish") == 0)
        fixture_finish(r->fixture, (size_t)atoi(argument));
    else if (strcmp(what, "writable") == 0)
        mcp_channel_set_writable(r->channel, strcmp(argument, "on") == 0, r->now);
    else if (strcmp(what, "close") == 0)
        mcp_channel_close(r->channel, r->now), r->closed = true;
    else {
        int rc = add_or_remove(r, what, argument);
        if (rc != MCP_OK && !(r->failing && rc == MCP_ENOMEM))
            complain(r, what, mcp_error_text(rc));
    }
    decided_all(&r->decided);
    tick(r);
}

static void step(run *r, const char *line)
{
    static const char *const blank = " \t";
    text expanded = {0};
    const char *problem;
    if (*line == 0 || *line == '#') {
        return;
    } else if (!expand(&r->scene, line, &expanded, &problem)) {
        complain(r, problem, line);
    } else if (strcmp(line, "<none") == 0) {
        no_more_outputs(r);
    } else if (*line == '>') {
        send_message(r, expanded.ptr + 1 + strspn(expanded.ptr + 1, blank));
    } else if (*line == '<') {
        check_outputs(r, expanded.ptr + 1 + strspn(expanded.ptr + 1, blank));
    } else if (*line == '@') {
        direct(r, expanded.ptr + 1);
    } else {
        complain(r, "what is this line?", line);
    }
    text_free(&expanded);
}

/* ---- one section, once ----------------------------------------------------------------------- */

static void handshake(run *r)
{
    char line[512];
    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"id\":\"handshake\",\"method\":\"initialize\",\"params\":"
             "{\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"transcript\",\"version\":\"1\"}}}",
             r->scene.revision);
    send_message(r, line);
    snprintf(
        line, sizeof(line),
        "{\"jsonrpc\":\"2.0\",\"id\":\"handshake\",\"result\":{\"protocolVersion\":\"%s\",...}}",
        r->scene.revision);
    check_outputs(r, line);
    send_message(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static void last_question(run *r)
{
    if (r->closed || r->memory.calls < r->memory.fail_at)
        return;
    mcp_channel_set_writable(r->channel, true, r->now);
    size_t before = r->memory.calls;
    text line = {0};
    const char *problem;
    const scene modern = {.revision = revisions[0], .modern = true};
    expand(&modern,
           "{\"jsonrpc\":\"2.0\",\"id\":\"the last question\",\"method\":\"server/discover\","
           "\"params\":{\"_meta\":{{meta}}}}",
           &line, &problem);
    if (mcp_channel_max_message(r->channel) >= line.len && mcp_channel_in_flight(r->channel) == 0) {
        send_message(r, line.ptr);
        if (!r->served && r->memory.fail_at <= before)
            complain(r, "after a failed allocation nothing is served any more", "");
    }
    text_free(&line);
}

static void clear(run *r)
{
    for (size_t i = 0; i < MAX_OUTPUTS; i++)
        text_free(&r->outputs[i]);
    for (size_t i = 0; i < MAX_OUTPUTS; i++) {
        text_free(&r->asked[i].id);
        text_free(&r->asked[i].method);
    }
    text_free(&r->scene.cursor);
    text_free(&r->scene.state);
    text_free(&r->scene.task);
}

static bool connect_peer(run *r, const settings *s)
{
    fixture_options server = s->server;
    mcp_channel_options channel = s->channel;
    r->allocator = failalloc_allocator(&r->memory);
    server.allocator = &r->allocator;
    mcp_error error = {0};
    if (fixture_new(&server, &r->fixture, &error) != MCP_OK) {
        complain(r, "the fixture", error.text);
        return false;
    }
    fixture_set_time(r->fixture, r->now);
    if (r->is_decided)
        decided_set(&r->decided, fixture_server(r->fixture));
    if (r->failing)
        r->memory.fail_at = r->memory.calls + r->failing;
    channel.size = sizeof(channel);
    channel.send = on_send;
    channel.user = r;
    channel.shared_stream = true;
    if (*s->principal)
        channel.principal = s->principal;
    int rc = mcp_server_connect(fixture_server(r->fixture), &channel, &r->channel, &error);
    if (rc != MCP_OK && !(r->failing && rc == MCP_ENOMEM))
        complain(r, "mcp_server_connect()", error.text);
    return rc == MCP_OK;
}

/* Runs the lines. Returns whether the allocation that should fail was reached. */
static bool run_once(run *r, const settings *s, char *const *lines, int first, int last)
{
    if (connect_peer(r, s)) {
        if (!r->scene.modern && strcmp(r->scene.revision, "none") != 0)
            handshake(r);
        for (int i = first; i < last; i++) {
            r->line = i + 1;
            step(r, lines[i]);
        }
        no_more_outputs(r);
        if (r->failing)
            last_question(r);
        mcp_channel_free(r->channel);
    }
    bool reached = r->memory.calls >= r->memory.fail_at;
    fixture_free(r->fixture);
    if (r->memory.live)
        complain(r, "memory was not given back", "");
    clear(r);
    return reached;
}

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct program {
    bool plain, is_decided;
    FILE *dump;
    bool wrong;
    size_t runs;
} program;

static void run_section(program *p, const char *file, const settings *s, const char *revision,
                        char *const *lines, int first, int last)
{
    bool modern = strcmp(revision, revisions[0]) == 0;
    bool reached = true;
    for (size_t n = 0; reached && !p->wrong && (n == 0 || !p->plain); n++) {
        static run r;
        r = (run){.file = file,
                  .line = first,
                  .failing = n,
                  .scene = {.revision = revision, .modern = modern},
                  .now = 1000,
                  .is_decided = p->is_decided,
                  .dump = n ? NULL : p->dump};
        reached = run_once(&r, s, lines, first, last) || n == 0;
        p->runs++;
        p->wrong |= r.wrong;
        if (r.wrong && n)
            printf("#   (with allocation %zu failing)\n", n);
    }
}

/* Parses a line such as "server empty page=3 max_message=200". */
static bool read_settings(char *words, settings *ret)
{
    *ret = (settings){0};
    for (char *word = strtok(words, " \t"); word; word = strtok(NULL, " \t")) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        const struct {
            const char *name;
            bool *flag;
            size_t *number;
        } known[] = {
            {"empty", &ret->server.empty, NULL},
            {"no-provider", &ret->server.no_provider, NULL},
            {"deferred-list", &ret->server.deferred_list, NULL},
            {"no-subscribe", &ret->server.no_subscribe, NULL},
            {"no-list-changed", &ret->server.no_list_changed, NULL},
            {"declare", &ret->server.declare, NULL},
            {"public", &ret->server.cache_public, NULL},
            {"logging", &ret->server.logging, NULL},
            {"strict", &ret->server.strict, NULL},
            {"fields", &ret->server.fields, NULL},
            {"asks", &ret->server.asks, NULL},
            {"tasks", &ret->server.tasks, NULL},
            {"max_tasks", NULL, &ret->server.max_tasks},
            {"max_task_bytes", NULL, &ret->server.max_task_bytes},
            {"page", NULL, &ret->server.page_size},
            {"max_message", NULL, &ret->channel.max_message},
            {"max_reply", NULL, &ret->channel.max_reply},
            {"max_depth", NULL, &ret->channel.max_depth},
            {"max_in_flight", NULL, &ret->channel.max_in_flight},
            {"max_subscriptions", NULL, &ret->channel.max_subscriptions},
            {"max_batch", NULL, &ret->channel.max_batch},
        };
        bool found = false;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (strcmp(word, known[i].name) != 0)
                continue;
            found = true;
            if (known[i].flag)
                *known[i].flag = true;
            else if (value)
                *known[i].number = strtoul(value, NULL, 10);
        }
        if (!found)
            return false;
    }
    return true;
}

static bool is_header(const char *line, const char *name)
{
    size_t len = strlen(name);
    return strncmp(line, name, len) == 0 && (line[len] == 0 || line[len] == ' ');
}

static void run_lines(program *p, const char *file, char **lines, int n)
{
    settings s = {0};
    for (int i = 0; i < n; i++) {
        const char *eras[MAX_REVISIONS + 1];
        size_t n_eras = 0;
        if (is_header(lines[i], "server")) {
            if (!read_settings(lines[i] + 6, &s)) {
                printf("# %s:%d: unknown setting\n", file, i + 1);
                p->wrong = true;
            }
        } else if (is_header(lines[i], "era")) {
            n_eras = read_era(lines[i] + 3, eras);
            int last = i + 1;
            while (last < n && !is_header(lines[last], "era") && !is_header(lines[last], "server"))
                last++;
            for (size_t k = 0; k < n_eras; k++)
                run_section(p, file, &s, eras[k], lines, i + 1, last);
            i = last - 1;
            if (n_eras == 0) {
                printf("# %s:%d: which era?\n", file, i + 1);
                p->wrong = true;
            }
        } else if (lines[i][0] && lines[i][0] != '#') {
            printf("# %s:%d: a line before the first era\n", file, i + 1);
            p->wrong = true;
        }
    }
}

static bool run_file(program *p, const char *file)
{
    FILE *f = fopen(file, "r");
    if (!f) {
        printf("# %s: cannot be opened\n", file);
        return false;
    }
    text whole = {0};
    char block[4096];
    for (size_t got; (got = fread(block, 1, sizeof(block), f)) > 0;)
        text_add(&whole, block, got);
    fclose(f);
    size_t count = 1;
    for (size_t i = 0; i < whole.len; i++)
        count += whole.ptr[i] == '\n';
    char **lines = calloc(count, sizeof(*lines));
    int n = 0;
    for (char *at = whole.ptr; at && *at && lines;) {
        char *end = at + strcspn(at, "\n"), *next = *end ? end + 1 : end;
        while (end > at && isspace((unsigned char)end[-1]))
            end--;
        *end = 0;
        lines[n++] = at;
        at = next;
    }
    p->wrong = false;
    run_lines(p, file, lines, n);
    free(lines);
    text_free(&whole);
    return !p->wrong;
}

int main(int argc, char **argv)
{
    program p = {0};
    int failed = 0, files = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--plain") == 0) {
            p.plain = true;
        } else if (strcmp(argv[i], "--decided") == 0) {
            p.is_decided = true;
        } else if (strcmp(argv[i], "--newest") == 0 && i + 1 < argc) {
            revisions[0] = argv[++i];
        } else if (strcmp(argv[i], "--dump") == 0 && i + 1 < argc) {
            p.dump = fopen(argv[++i], "w");
        } else {
            bool ok = run_file(&p, argv[i]);
            printf("%sok %d - %s (%zu runs)\n", ok ? "" : "not ", ++files, argv[i], p.runs);
            p.runs = 0;
            failed += !ok;
        }
    }
    printf("1..%d\n", files);
    if (p.dump)
        fclose(p.dump);
    return failed || !files;
}
