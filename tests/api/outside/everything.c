/* A program that passes every kind of struct to the libraries and receives every kind from them.
 * Its output must be the same for all headers with which it is built: the current ones, those of a
 * later version with one more member in every struct, and those of an earlier version without the
 * last member of each struct, which this program therefore does not use. */
#include <mcp/io.h>
#include <mcp/mcp.h>
#include <mcp/sys/io.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        int check_rc = (call);                                                           \
        if (check_rc != MCP_OK) {                                                        \
            printf("line %d: %s: %s\n", __LINE__, mcp_error_name(check_rc), error.text); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

static mcp_error error;

static void print(const char *what, const mcp_json *value)
{
    mcp_str text = {NULL, 0};
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    if (value)
        mcp_json_add_value(w, value);
    else
        mcp_json_add_null(w);
    mcp_json_writer_finish(w, &text);
    printf("%s: %.*s\n", what, (int)text.len, text.ptr);
    mcp_json_writer_free(w);
}

/* ---- the server ------------------------------------------------------------------------------ */

static const mcp_icon icons[] = {
    {.size = sizeof(mcp_icon),
     .src = "https://example.com/1.png",
     .mime_type = "image/png",
     .sizes = "48x48"},
    {.size = sizeof(mcp_icon), .src = "https://example.com/2.svg", .sizes = "any"},
};

static const mcp_annotations for_users = {.size = sizeof(mcp_annotations),
                                          .audience = MCP_AUDIENCE_USER,
                                          .has_priority = true,
                                          .priority = 0.5};

static int read_it(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    mcp_str name = MCP_STR("none");
    (void)user;
    if (match)
        mcp_uri_match_get(match, "name", &name);
    mcp_reply_textf(req, "%.*s is %.*s", (int)uri.len, uri.ptr, (int)name.len, name.ptr);
    return mcp_reply_content(req,
                             MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_TEXT, .uri = "mem:other",
                                         .text = MCP_STR("more"), .mime_type = "text/plain"));
}

static int prompt_it(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)user;
    print("prompt", arguments);
    mcp_reply_content(req,
                      MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_TEXT, .text = MCP_STR("hello"),
                                  .role = MCP_ROLE_ASSISTANT, .annotations = &for_users));
    return mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_LINK, .uri = "mem:a",
                                              .name = "a", .title = "A"));
}

static int ask_it(mcp_request *req, const mcp_json *arguments, void *user)
{
    struct {
        char before[16];
        mcp_elicited got;
        char behind[16];
    } m = {.before = "before", .behind = "behind"};
    const mcp_json *roots = NULL, *sampled = NULL;
    (void)arguments, (void)user;
    mcp_request_progress(req, 1, 2, "half");
    int rc = mcp_request_elicit(req, "form",
                                MCP_OPTIONS(mcp_elicit, .message = "Which?",
                                            .schema = "{\"type\":\"object\",\"properties\":{\"n\":{"
                                                      "\"type\":\"integer\"}}}"),
                                &m.got);
    int rc_roots = mcp_request_roots(req, "roots", &roots);
    int rc_sample = mcp_request_sample(
        req, "sample", MCP_OPTIONS(mcp_sample, .text = "?", .max_tokens = 9), &sampled);
    rc = rc != MCP_OK ? rc : rc_roots != MCP_OK ? rc_roots : rc_sample;
    if (rc != MCP_OK)
        return rc;
    print("roots", roots);
    mcp_str said = mcp_sampled_text(sampled);
    return mcp_reply_textf(req, "%s %s: %d, %.*s", m.before, m.behind,
                           (int)mcp_json_int(mcp_json_get(m.got.content, "n"), 0), (int)said.len,
                           said.ptr);
}

static int later(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    int rc = mcp_request_task(req, MCP_OPTIONS(mcp_task_options, .ttl_ms = 60000, .poll_ms = 1));
    return rc != MCP_OK ? rc : mcp_reply_text(req, "done later");
}

static int list_mounted(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)cursor, (void)max, (void)user;
    return mcp_reply_resource(req,
                              MCP_OPTIONS(mcp_resource, .uri = "far:1", .name = "one",
                                          .icons = icons, .n_icons = 2, .annotations = &for_users));
}

static int read_mounted(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri, (void)user;
    return mcp_reply_text(req, "from far");
}

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)user, (void)identity;
    return item != MCP_ITEM_TOOL || !mcp_str_eq(name, MCP_STR("hidden"));
}

static mcp_server *make_server(void)
{
    static const mcp_prompt_argument arguments[] = {
        {.size = sizeof(mcp_prompt_argument), .name = "first", .title = "First", .required = true},
        {.size = sizeof(mcp_prompt_argument), .name = "second"},
    };
    static const char key[32] = "not a secret at all";
    mcp_server *s = NULL;
    CHECK(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "all", .version = "1",
                                     .icons = icons, .n_icons = 2, .list_ttl_ms = MCP_TTL_NONE),
                         &s, &error));
    CHECK(mcp_server_add_resource(s,
                                  MCP_OPTIONS(mcp_resource, .uri = "mem:a", .name = "a",
                                              .icons = icons, .n_icons = 2,
                                              .annotations = &for_users, .read = read_it),
                                  NULL, &error));
    CHECK(mcp_server_add_template(s,
                                  MCP_OPTIONS(mcp_resource_template, .uri_template = "mem:t/{name}",
                                              .name = "t", .icons = icons, .n_icons = 2,
                                              .read = read_it),
                                  NULL, &error));
    CHECK(mcp_server_add_prompt(s,
                                MCP_OPTIONS(mcp_prompt, .name = "p", .arguments = arguments,
                                            .n_arguments = 2, .icons = icons, .n_icons = 2,
                                            .get = prompt_it),
                                NULL, &error));
    CHECK(mcp_server_add_tool(
        s, MCP_OPTIONS(mcp_tool, .name = "ask", .call = ask_it, .icons = icons, .n_icons = 2), NULL,
        &error));
    CHECK(mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "hidden", .call = ask_it), NULL,
                              &error));
    CHECK(mcp_server_add_tool(
        s, MCP_OPTIONS(mcp_tool, .name = "later", .call = later, .task_support = MCP_TASK_OPTIONAL),
        NULL, &error));
    CHECK(mcp_server_mount(
        s, "far:",
        MCP_OPTIONS(mcp_provider, .name = "far", .list = list_mounted, .read = read_mounted), NULL,
        &error));
    CHECK(mcp_server_set_tasks(s, MCP_OPTIONS(mcp_task_settings, .poll_ms = 1), &error));
    CHECK(mcp_server_set_seal(s, MCP_OPTIONS(mcp_seal_options, .key = key, .key_len = sizeof(key)),
                              &error));
    CHECK(mcp_server_set_access(s, MCP_OPTIONS(mcp_access, .may = may)));
    return s;
}

/* ---- the client ------------------------------------------------------------------------------ */

static const mcp_root roots[] = {
    {.size = sizeof(mcp_root), .uri = "file:///one"},
    {.size = sizeof(mcp_root), .uri = "file:///two"},
};

static void answer_form(mcp_client *client, mcp_question *question, void *user)
{
    (void)client, (void)user;
    CHECK(mcp_question_accept(question, "{\"n\":7}", &error));
}

static void answer_sample(mcp_client *client, mcp_question *question, void *user)
{
    (void)client, (void)user;
    CHECK(mcp_question_sampled(
        question,
        "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\","
        "\"text\":\"words\"}}",
        &error));
}

static void answer_roots(mcp_client *client, mcp_question *question, void *user)
{
    (void)client, (void)user;
    CHECK(mcp_question_roots(question, roots, 2, &error));
}

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                        void *user)
{
    (void)client, (void)call, (void)user;
    printf("progress %g of %g\n", progress->progress, progress->total);
}

static void call(mcp_client *client, const char *method, const char *params)
{
    mcp_json_doc *result = NULL;
    mcp_call_id id = 0;
    CHECK(mcp_client_request(
        client, method, params,
        MCP_OPTIONS(mcp_call_options, .progress = on_progress, .timeout_ms = 20000), &id));
    CHECK(mcp_client_wait(client, id, &result, &error));
    const mcp_json *root = mcp_json_root(result);
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(root, &it, &key)) != NULL;) {
        if (!mcp_str_eq(key, MCP_STR("_meta")))
            printf("%s %.*s ", method, (int)key.len, key.ptr), print("", v);
    }
    mcp_json_free(result);
}

static mcp_client *make_client(void)
{
    mcp_client *client = NULL;
    CHECK(mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "c", .version = "1",
                                     .icons = icons, .n_icons = 2, .elicit_form = answer_form,
                                     .sample = answer_sample, .roots = answer_roots, .tasks = true),
                         &client, &error));
    return client;
}

static void use(mcp_client *client)
{
    call(client, "resources/list", NULL);
    call(client, "resources/templates/list", NULL);
    call(client, "prompts/list", NULL);
    call(client, "tools/list", NULL);
    call(client, "resources/read", "{\"uri\":\"mem:t/x\"}");
    call(client, "resources/read", "{\"uri\":\"far:1\"}");
    call(client, "prompts/get", "{\"name\":\"p\",\"arguments\":{\"first\":\"1\"}}");
    call(client, "tools/call", "{\"name\":\"ask\"}");
    call(client, "tools/call", "{\"name\":\"later\"}");
}

/* ---- the transports -------------------------------------------------------------------------- */

static void on_record(const mcp_http_record *record, void *user)
{
    (void)user;
    if (mcp_str_eq(record->method, MCP_STR("tools/list")))
        printf("record %d %.*s\n", record->status, (int)record->path.len, record->path.ptr);
}

static bool fetched_it;

static void on_fetched(int rc, const mcp_fetched *fetched, const mcp_error *why, void *user)
{
    (void)user, (void)why;
    printf("fetched %d %s\n", rc, rc == MCP_OK ? fetched->media_type : "");
    fetched_it = true;
}

static void over_http(mcp_loop *loop)
{
    mcp_server *server = make_server();
    mcp_client *client = make_client();
    mcp_listener *listener = NULL;
    mcp_http_client *http = NULL;
    char url[64];
    CHECK(mcp_loop_listen(loop, server,
                          MCP_OPTIONS(mcp_listen_options, .address = "127.0.0.1:0",
                                      .http = MCP_OPTIONS(mcp_http_options, .log = on_record)),
                          &listener, &error));
    snprintf(url, sizeof(url), "http://%s/mcp", mcp_listener_address(listener));
    CHECK(mcp_http_client_connect(loop, client, MCP_OPTIONS(mcp_http_client_options, .url = url),
                                  &http, &error));
    use(client);
    snprintf(url, sizeof(url), "http://%s/healthz", mcp_listener_address(listener));
    CHECK(mcp_loop_fetch(
        loop, MCP_OPTIONS(mcp_fetch_options, .url = url, .allow_private = true, .done = on_fetched),
        NULL, &error));
    while (!fetched_it)
        CHECK(mcp_loop_step(loop, 1000));
    mcp_http_client_close(http);
    mcp_client_free(client);
    mcp_listener_close(listener);
    mcp_server_cancel_tasks(server);
    CHECK(mcp_loop_drain(loop, 1000));
    mcp_server_free(server);
}

static void over_stdio(mcp_loop *loop, const char *self)
{
    const char *const argv[] = {self, "serve", NULL};
    mcp_client *client = make_client();
    mcp_child *child = NULL;
    CHECK(mcp_child_spawn(loop, client, MCP_OPTIONS(mcp_child_options, .argv = argv), &child,
                          &error));
    use(client);
    printf("ended with %d\n", mcp_child_close(child));
    mcp_client_free(client);
}

static void serve(mcp_loop *loop)
{
    mcp_server *server = make_server();
    CHECK(mcp_loop_serve_stdio(loop, server, MCP_OPTIONS(mcp_stdio_options, .max_output = 1 << 20),
                               &error));
    mcp_server_free(server);
}

static void on_issue(const mcp_schema_issue *issue, void *user)
{
    (void)user;
    printf("issue %.*s %.*s\n", (int)issue->path.len, issue->path.ptr, (int)issue->keyword.len,
           issue->keyword.ptr);
}

static void alone(void)
{
    mcp_json_doc *doc = NULL;
    mcp_schema *schema = NULL;
    mcp_uri_template *t = NULL;
    CHECK(mcp_json_parse(MCP_STR("[1]"), MCP_OPTIONS(mcp_json_limits, .max_bytes = 10), NULL, &doc,
                         &error));
    CHECK(mcp_schema_compile_text(NULL, MCP_STR("{\"items\":{\"type\":\"string\"}}"),
                                  MCP_OPTIONS(mcp_schema_options, .assert_formats = true), &schema,
                                  &error));
    if (mcp_schema_validate_all(schema, mcp_json_root(doc), 0, on_issue, NULL, &error) !=
        MCP_EINVAL)
        exit(1);
    CHECK(mcp_uri_template_parse_limited(
        MCP_STR("a:{b}"), MCP_OPTIONS(mcp_uri_template_limits, .max_bytes = 9), NULL, &t, &error));
    mcp_uri_template_free(t);
    mcp_schema_free(schema);
    mcp_json_free(doc);
}

int main(int argc, char **argv)
{
    mcp_loop *loop = NULL;
    CHECK(mcp_loop_new(NULL, &loop, &error));
    if (argc > 1) {
        serve(loop);
    } else {
        alone();
        over_http(loop);
        over_stdio(loop, argv[0]);
    }
    mcp_loop_free(loop);
    return 0;
}
