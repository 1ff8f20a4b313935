/* fixture.c: see fixture.h. Tables of descriptors, and a small handler for each. */
#include "fixture_state.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- answering later ------------------------------------------------------------------------- */

static void count_cancel(mcp_request *req, void *user)
{
    fixture *f = user;
    (void)req;
    f->n_cancelled++;
}

int fixture_wait_for(fixture *f, mcp_request *req, mcp_str text, size_t max,
                     int (*answer)(fixture *, waiting *))
{
    if (f->n_waiting == MAX_PENDING || text.len >= MAX_URI)
        return MCP_ELIMIT;
    waiting *w = &f->waiting[f->n_waiting++];
    *w = (waiting){.req = req, .answer = answer, .max = max};
    if (text.len)
        memcpy(w->text, text.ptr, text.len);
    mcp_request_on_cancel(req, count_cancel, f);
    return MCP_PENDING;
}

static int speak(fixture *f, waiting *w)
{
    (void)f;
    return w->speak(w->req, w->text);
}

int fixture_wait(fixture *f, mcp_request *req, mcp_str text,
                 int (*answer)(mcp_request *req, const char *text))
{
    int rc = fixture_wait_for(f, req, text, 0, speak);
    if (rc == MCP_PENDING)
        f->waiting[f->n_waiting - 1].speak = answer;
    return rc;
}

static void finish_one(fixture *f, size_t at)
{
    waiting w = f->waiting[at];
    f->n_waiting--;
    memmove(&f->waiting[at], &f->waiting[at + 1], (f->n_waiting - at) * sizeof(w));
    int outcome = w.answer(f, &w);
    mcp_reply_finish(w.req, outcome);
}

void fixture_finish(fixture *f, size_t n)
{
    size_t all = f->n_waiting; /* an answer may make another request wait */
    for (size_t i = 0; n == 0 && i < all; i++)
        finish_one(f, 0);
    if (n && n <= f->n_waiting)
        finish_one(f, n - 1);
}

size_t fixture_pending(const fixture *f)
{
    return f->n_waiting;
}

size_t fixture_cancelled(const fixture *f)
{
    return f->n_cancelled;
}

/* ---- annotations and icons ------------------------------------------------------------------- */

static const mcp_annotations annotations = {
    .size = sizeof(mcp_annotations),
    .audience = MCP_AUDIENCE_USER | MCP_AUDIENCE_ASSISTANT,
    .has_priority = true,
    .priority = 0.5,
    .last_modified = "2026-01-02T03:04:05Z",
};

static const mcp_icon icons[] = {
    {.size = sizeof(mcp_icon),
     .src = "https://example.com/i.png",
     .mime_type = "image/png",
     .sizes = "48x48 96x96",
     .theme = "dark"},
};

#define META "{\"com.example/kept\":[1,null]}"

/* ---- resources ------------------------------------------------------------------------------- */

static int read_blob(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_reply_bytes(req, "\0\1\2\377", 4, NULL);
}

static int read_several(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    mcp_reply_content(req, MCP_OPTIONS(mcp_content, .text = MCP_STR("one"), .meta = META));
    mcp_reply_meta(req, "com.example/reply", MCP_STR("{\"a\":1}"));
    return mcp_reply_content(req, MCP_OPTIONS(mcp_content, .text = MCP_STR("two"),
                                              .uri = "fixed:/several/2", .mime_type = "text/x"));
}

static int read_code(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)req, (void)uri, (void)match;
    return *(const int *)user;
}

static int read_broken(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_reply_text(req, "not UTF-8: \xff");
}

static int read_cached(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    mcp_reply_cache(req, 60000, true);
    return mcp_reply_text(req, "cached");
}

static int code_access = MCP_EACCESS, code_gone = MCP_ENOTFOUND;

static const struct {
    mcp_resource resource;
    void *user;
} resources[] = {
    {{.size = sizeof(mcp_resource),
      .uri = "fixed:/text",
      .name = "text",
      .title = "A text",
      .description = "It greets",
      .mime_type = "text/plain",
      .annotations = &annotations,
      .icons = icons,
      .n_icons = COUNT(icons),
      .meta = META,
      .text = "hello"},
     NULL},
    {{.size = sizeof(mcp_resource),
      .uri = "fixed:/blob",
      .name = "blob",
      .mime_type = "application/octet-stream",
      .has_size = true,
      .resource_size = 4,
      .read = read_blob},
     NULL},
    {{.size = sizeof(mcp_resource),
      .uri = "fixed:/several",
      .name = "several",
      .read = read_several},
     NULL},
    {{.size = sizeof(mcp_resource), .uri = "fixed:/secret", .name = "secret", .read = read_code},
     &code_access},
    {{.size = sizeof(mcp_resource), .uri = "fixed:/gone", .name = "gone", .read = read_code},
     &code_gone},
    {{.size = sizeof(mcp_resource), .uri = "fixed:/broken", .name = "broken", .read = read_broken},
     NULL},
    {{.size = sizeof(mcp_resource), .uri = "fixed:/cached", .name = "cached", .read = read_cached},
     NULL},
};

/* ---- templates ------------------------------------------------------------------------------- */

static int read_variable(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    mcp_str value;
    (void)uri;
    if (!mcp_uri_match_get(match, user, &value))
        return mcp_reply_text(req, "(none)");
    return mcp_reply_str(req, value, NULL);
}

static int complete_number(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                           void *user)
{
    (void)name, (void)context, (void)user;
    for (int i = 0; i < 150; i++) {
        char text[16];
        int len = snprintf(text, sizeof(text), "%d", i);
        if ((size_t)len >= value.len && memcmp(text, value.ptr, value.len) == 0)
            mcp_reply_completion(req, (mcp_str){text, (size_t)len});
    }
    return MCP_OK;
}

static int complete_thing(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                          void *user)
{
    (void)value, (void)user;
    if (mcp_str_eq(name, MCP_STR("kind")))
        return mcp_reply_completion(req, MCP_STR("fruit"));
    mcp_str kind = mcp_json_string(mcp_json_get(context, "kind"));
    mcp_reply_completion_total(req, 7);
    return mcp_reply_completion(req, mcp_str_eq(kind, MCP_STR("fruit")) ? MCP_STR("apple")
                                                                        : MCP_STR("anything"));
}

static const struct {
    mcp_resource_template tmpl;
    const char *user;
} templates[] = {
    {{.size = sizeof(mcp_resource_template),
      .uri_template = "fixed:/number/{n}",
      .name = "number",
      .title = "A number",
      .description = "Any of them",
      .mime_type = "text/plain",
      .annotations = &annotations,
      .icons = icons,
      .n_icons = COUNT(icons),
      .meta = META,
      .read = read_variable,
      .complete = complete_number},
     "n"},
    {{.size = sizeof(mcp_resource_template),
      .uri_template = "fixed:/thing/{kind}/{name}",
      .name = "thing",
      .read = read_variable,
      .complete = complete_thing},
     "name"},
    {{.size = sizeof(mcp_resource_template),
      .uri_template = "fixed:/plain/{x}",
      .name = "plain",
      .read = read_variable},
     "x"},
};

/* ---- tools ----------------------------------------------------------------------------------- */

static int call_echo(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    return mcp_reply_str(req, mcp_json_string(mcp_json_get(arguments, "text")), NULL);
}

/* One piece of content of each kind, for tools and prompts. */
static int add_every(mcp_request *req)
{
    mcp_reply_content(req, MCP_OPTIONS(mcp_content, .text = MCP_STR("text"),
                                       .annotations = &annotations, .meta = META));
    mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_IMAGE, .bytes = "\1\2",
                                       .bytes_len = 2, .mime_type = "image/png",
                                       .role = MCP_ROLE_ASSISTANT));
    mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_AUDIO, .bytes = "\1\2\3",
                                       .bytes_len = 3, .mime_type = "audio/wav"));
    mcp_reply_content(req,
                      MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_LINK, .uri = "fixed:/text",
                                  .name = "text", .title = "A text", .description = "It is",
                                  .mime_type = "text/plain", .has_size = true, .resource_size = 5));
    mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_RESOURCE, .uri = "fixed:/a",
                                       .text = MCP_STR("inside"), .mime_type = "text/plain"));
    return mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_RESOURCE,
                                              .uri = "fixed:/b", .bytes = "", .bytes_len = 0,
                                              .annotations = &annotations));
}

static int call_every(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return add_every(req);
}

static int call_fails(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_tool_error(req, "No %s today", "bread");
}

static int call_structured(mcp_request *req, const mcp_json *arguments, void *user)
{

    if (mcp_json_get(arguments, "say"))
        mcp_reply_str(req, mcp_json_string(mcp_json_get(arguments, "say")), NULL);
    return mcp_reply_structured(req, mcp_str_from(user));
}

static int call_progress(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_request_progress(req, 1, 4, "begun");
    mcp_request_progress(req, 2, 4, "going on");
    mcp_request_progress(req, 4, 4, "done");
    mcp_request_progress(req, 4, 4, "not more than before");
    return mcp_reply_text(req, "progressed");
}

static int call_logs(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_request_log(req, MCP_LOG_DEBUG, "fixture", MCP_STR("{\n\"a\": 1}"));
    mcp_request_logf(req, MCP_LOG_WARNING, NULL, "It is %d", 7);
    mcp_request_log(req, MCP_LOG_EMERGENCY, NULL, MCP_STR("no JSON"));
    return mcp_reply_text(req, "logged");
}

static int finish_call(fixture *f, waiting *w)
{
    (void)f;
    return mcp_reply_text(w->req, "later");
}

static int call_pending(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return fixture_wait_for(user, req, MCP_STR(""), 0, finish_call);
}

static void work_nothing(void *user)
{
    (void)user;
}

static void work_done(mcp_request *req, void *user)
{
    (void)user;
    mcp_reply_finish(req, mcp_reply_text(req, "worked"));
}

static int call_work(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return mcp_request_work(req, work_nothing, work_done, user);
}

static int call_broken(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_reply_text(req, "thrown away");
    return MCP_EIO;
}

static int call_refuses(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_reply_text(req, "thrown away");
    return mcp_reply_fail_data(req, 4711, "{\n  \"why\": [1, 2]\n}", "Not on a %s", "Sunday");
}

static int call_requires(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    int rc = mcp_request_require(req, user);
    return rc == MCP_OK ? mcp_reply_text(req, "it is there") : rc;
}

#define OBJECT(members) "{\"type\":\"object\",\"properties\":{" members "}}"

static const struct {
    mcp_tool tool;
    const char *user; /* NULL stands for the fixture */
} tools[] = {
    {{.size = sizeof(mcp_tool),
      .name = "echo",
      .description = "Says it again",
      .input_schema = OBJECT("\"text\":{\"type\":\"string\"}"),
      .call = call_echo},
     ""},
    {{.size = sizeof(mcp_tool),
      .name = "every",
      .title = "Everything",
      .read_only = MCP_HINT_YES,
      .destructive = MCP_HINT_NO,
      .idempotent = MCP_HINT_YES,
      .open_world = MCP_HINT_NO,
      .icons = icons,
      .n_icons = COUNT(icons),
      .meta = META,
      .call = call_every},
     ""},
    {{.size = sizeof(mcp_tool), .name = "fails", .call = call_fails}, ""},
    {{.size = sizeof(mcp_tool),
      .name = "object",
      .output_schema = OBJECT("\"n\":{\"type\":\"integer\"}"),
      .call = call_structured},
     "{\"n\":1}"},
    {{.size = sizeof(mcp_tool),
      .name = "array",
      .output_schema = "{\"type\":\"array\"}",
      .call = call_structured},
     "[1,2]"},
    {{.size = sizeof(mcp_tool), .name = "progress", .call = call_progress}, ""},
    {{.size = sizeof(mcp_tool), .name = "logs", .call = call_logs}, ""},
    {{.size = sizeof(mcp_tool), .name = "pending", .call = call_pending}, NULL},
    {{.size = sizeof(mcp_tool), .name = "work", .call = call_work}, NULL},
    {{.size = sizeof(mcp_tool), .name = "broken", .call = call_broken}, ""},
    {{.size = sizeof(mcp_tool), .name = "refuses", .call = call_refuses}, ""},
    {{.size = sizeof(mcp_tool), .name = "samples", .call = call_requires}, "sampling"},
    {{.size = sizeof(mcp_tool), .name = "asks", .call = call_requires}, "elicitation.form"},
};

/* ---- prompts --------------------------------------------------------------------------------- */

static int get_plain(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "Say something");
}

static int get_args(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    mcp_str who = mcp_json_string(mcp_json_get(arguments, "who"));
    mcp_reply_description(req, "A greeting");
    return mcp_reply_textf(req, "Greet %.*s", (int)who.len, who.ptr);
}

static int get_every(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return add_every(req);
}

static int complete_who(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                        void *user)
{
    (void)name, (void)value, (void)context, (void)user;
    mcp_reply_completion(req, MCP_STR("the world"));
    return mcp_reply_completion(req, MCP_STR("the \"moon\""));
}

static const mcp_prompt_argument arguments_of_args[] = {
    {.size = sizeof(mcp_prompt_argument),
     .name = "who",
     .title = "Who",
     .description = "Whom to greet",
     .required = true},
    {.size = sizeof(mcp_prompt_argument), .name = "how"},
};

static const mcp_prompt prompts[] = {
    {.size = sizeof(mcp_prompt), .name = "plain", .get = get_plain},
    {.size = sizeof(mcp_prompt),
     .name = "args",
     .title = "With arguments",
     .description = "Greets",
     .arguments = arguments_of_args,
     .n_arguments = COUNT(arguments_of_args),
     .icons = icons,
     .n_icons = COUNT(icons),
     .meta = META,
     .get = get_args,
     .complete = complete_who},
    {.size = sizeof(mcp_prompt), .name = "every", .get = get_every},
};

/* ---- registration ---------------------------------------------------------------------------- */

#define PROMISE \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"

/* Tools whose results violate their output schemas. They are registered on request only, because
 * otherwise every list would contain them. */
static const struct {
    mcp_tool tool;
    const char *user;
} strict_tools[] = {
    {{.size = sizeof(mcp_tool), .name = "lies", .output_schema = PROMISE, .call = call_structured},
     "{\"n\":\"one\"}"},
    {{.size = sizeof(mcp_tool), .name = "forgets", .output_schema = PROMISE, .call = call_echo},
     ""},
    {{.size = sizeof(mcp_tool), .name = "fails", .output_schema = PROMISE, .call = call_fails}, ""},
    {{.size = sizeof(mcp_tool),
      .name = "needs",
      .input_schema = "{\"type\":\"object\",\"required\":[\"text\"],\"properties\":{\"text\":"
                      "{\"type\":\"string\",\"minLength\":2}}}",
      .call = call_echo},
     ""},
};

static int register_strict(fixture *f, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; i < COUNT(strict_tools) && rc == MCP_OK; i++)
        rc = mcp_server_add_tool(f->server, &strict_tools[i].tool,
                                 (void *)(uintptr_t)strict_tools[i].user, error);
    return rc;
}

static int register_all(fixture *f, bool no_provider, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; i < COUNT(resources) && rc == MCP_OK; i++)
        rc = mcp_server_add_resource(f->server, &resources[i].resource, resources[i].user, error);
    for (size_t i = 0; i < COUNT(templates) && rc == MCP_OK; i++)
        rc = mcp_server_add_template(f->server, &templates[i].tmpl,
                                     (void *)(uintptr_t)templates[i].user, error);
    for (size_t i = 0; i < COUNT(tools) && rc == MCP_OK; i++) {
        void *user = tools[i].user ? (void *)(uintptr_t)tools[i].user : f;
        rc = mcp_server_add_tool(f->server, &tools[i].tool, user, error);
    }
    for (size_t i = 0; i < COUNT(prompts) && rc == MCP_OK; i++)
        rc = mcp_server_add_prompt(f->server, &prompts[i], f, error);
    if (rc == MCP_OK && !no_provider)
        rc = mcp_server_mount(f->server, "mem:", &fixture_mem, f, error);
    return rc;
}

static int64_t calendar(void *user)
{
    const fixture *f = user;
    return 1767225600000 + f->now;
}

/* A generator of predictable bytes, so that task ids are known in advance. */
static int count_up(void *bytes, size_t len, void *user)
{
    fixture *f = user;
    memset(bytes, 0, len);
    f->drawn++;
    memcpy(bytes, &f->drawn, len < sizeof(f->drawn) ? len : sizeof(f->drawn));
    return MCP_OK;
}

void fixture_set_time(fixture *f, int64_t ms)
{
    f->now = ms;
}

int fixture_new(const fixture_options *o, fixture **ret, mcp_error *error)
{
    fixture *f = calloc(1, sizeof(*f));
    if (!f)
        return MCP_ENOMEM;
    f->deferred_list = o->deferred_list;
    const mcp_server_options options = {
        .size = sizeof(options),
        .name = "fixture",
        .version = "1.0",
        .title = "A fixture",
        .description = "It has one of everything",
        .website_url = "https://example.com/",
        .icons = icons,
        .n_icons = COUNT(icons),
        .instructions = "Try everything.",
        .page_size = o->page_size ? o->page_size : 4,
        .no_rate_limits = !o->calls_burst,
        .calls_per_second = 1,
        .calls_burst = o->calls_burst,
        .coalesce_ms = o->coalesce_ms,
        .no_subscribe = o->no_subscribe,
        .no_list_changed = o->no_list_changed,
        .declare_resources = o->declare,
        .declare_prompts = o->declare,
        .declare_tools = o->declare,
        .cache_public = o->cache_public,
        .logging = o->logging,
        .clock = calendar,
        .random = o->tasks ? count_up : NULL,
        .user = f,
        .allocator = o->allocator,
    };
    int rc = mcp_server_new(&options, &f->server, error);
    if (rc == MCP_OK && o->strict)
        rc = register_strict(f, error);
    else if (rc == MCP_OK && o->tasks)
        rc = fixture_add_tasks(f, o, error);
    else if (rc == MCP_OK && o->fields)
        rc = fixture_add_fields(f->server, error);
    else if (rc == MCP_OK && o->asks)
        rc = fixture_add_asks(f->server, error);
    else if (rc == MCP_OK && !o->empty)
        rc = register_all(f, o->no_provider, error);
    if (rc != MCP_OK) {
        fixture_free(f);
        return rc;
    }
    *ret = f;
    return MCP_OK;
}

void fixture_free(fixture *f)
{
    if (!f)
        return;
    while (f->n_waiting)
        fixture_finish(f, 0);
    mcp_server_free(f->server);
    free(f);
}

mcp_server *fixture_server(fixture *f)
{
    return f->server;
}

int fixture_add_resource(fixture *f, const char *uri)
{
    return mcp_server_add_resource(
        f->server, MCP_OPTIONS(mcp_resource, .uri = uri, .name = "new", .text = "new"), NULL, NULL);
}

int fixture_add_template(fixture *f, const char *uri_template)
{
    return mcp_server_add_template(f->server,
                                   MCP_OPTIONS(mcp_resource_template, .uri_template = uri_template,
                                               .name = "new", .read = read_variable),
                                   (void *)(uintptr_t) "new", NULL);
}

int fixture_add_tool(fixture *f, const char *name)
{
    return mcp_server_add_tool(f->server, MCP_OPTIONS(mcp_tool, .name = name, .call = call_echo),
                               NULL, NULL);
}

int fixture_add_prompt(fixture *f, const char *name)
{
    return mcp_server_add_prompt(f->server, MCP_OPTIONS(mcp_prompt, .name = name, .get = get_plain),
                                 NULL, NULL);
}
