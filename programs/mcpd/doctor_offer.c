/* doctor_offer.c: queries the server for what hosts would see, once for each principal of the
 * configuration.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include <common/text.h>
#include <mcp/io.h>
#include <mcp/sys/server.h>
#include <prompts.h>

#include "doctor.h"
#include "tokens.h"

enum { SHOWN = 5, MOST_PRINCIPALS = 32 };

/* One principal's conversation. */
typedef struct asking {
    mcp_loop *loop;
    mcp_channel *channel;
    mcp_json_doc *answer; /* the last answer */
} asking;

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    asking *a = user;
    mcp_json_doc *doc = NULL;
    (void)channel, (void)exchange;
    if (mcp_json_parse(message, NULL, NULL, &doc, NULL) == MCP_OK &&
        mcp_json_get(mcp_json_root(doc), "id")) {
        mcp_json_free(a->answer);
        a->answer = doc;
    } else {
        mcp_json_free(doc);
    }
}

/* The resource tools may be listed only for hosts that are known to show nothing but tools. */
#define ANY_HOST   "mcpd"
#define TOOLS_ONLY "codex-mcp-client"

/* Sends a request and returns its result, which is valid until the next call. Returns NULL after an
 * error, or if there is no answer within 20 seconds. */
static const mcp_json *ask(asking *a, const char *method, const char *client)
{
    char text[400];
    mcp_json_free(a->answer);
    a->answer = NULL;
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"%s\",\"version\":\"1\"},"
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             method, client);
    mcp_channel_receive(a->channel, 0, mcp_str_from(text), mcp_loop_now(a->loop));
    for (int i = 0; i < 200 && !a->answer; i++) {
        mcp_loop_step(a->loop, 100);
        mcp_channel_tick(a->channel, mcp_loop_now(a->loop));
    }
    return mcp_json_get(mcp_json_root(a->answer), "result");
}

/* ---- one list -------------------------------------------------------------------------------- */

static const struct {
    const char *method, *array, *key, *one;
} lists[] = {
    {"resources/list", "resources", "uri", "resource"},
    {"resources/templates/list", "resourceTemplates", "uriTemplate", "template"},
    {"prompts/list", "prompts", "name", "prompt"},
    {"tools/list", "tools", "name", "tool"},
};

static void print_list(size_t l, const mcp_json *result)
{
    const mcp_json *array = mcp_json_get(result, lists[l].array);
    size_t count = mcp_json_count(array), i = 0;
    bool more = mcp_json_get(result, "nextCursor") != NULL;
    mcp_json_iter it = {0};
    printf("  %zu %s%s%s\n", count, lists[l].one, count == 1 ? "" : "s",
           more ? " on the first page, and more" : "");
    for (const mcp_json *v; i < SHOWN && (v = mcp_json_next(array, &it, NULL)) != NULL; i++) {
        printf("    ");
        text_put(stdout, mcp_json_string(mcp_json_get(v, lists[l].key)), TEXT_LINE);
        putchar('\n');
    }
    if (count > SHOWN)
        printf("    ...\n");
}

static void put_list(mcp_json_writer *w, size_t l, const mcp_json *result)
{
    const mcp_json *array = mcp_json_get(result, lists[l].array);
    size_t i = 0;
    mcp_json_iter it = {0};
    mcp_json_key(w, lists[l].array);
    mcp_json_begin_object(w);
    mcp_json_put_uint(w, "count", mcp_json_count(array));
    mcp_json_put_bool(w, "more", mcp_json_get(result, "nextCursor") != NULL);
    mcp_json_key(w, "first");
    mcp_json_begin_array(w);
    for (const mcp_json *v; i < SHOWN && (v = mcp_json_next(array, &it, NULL)) != NULL; i++)
        mcp_json_add_value(w, mcp_json_get(v, lists[l].key));
    mcp_json_end(w);
    mcp_json_end(w);
}

/* ---- principals ------------------------------------------------------------------------------ */

/* Finds out whether a principal sees the resource tools in every host or only in hosts that show
 * nothing but tools. */
static void find_tools(const char *principal, const mcp_json *result)
{
    size_t count = mcp_json_count(mcp_json_get(result, "tools"));
    if (count)
        doctor_find(FINDING_OK, "hosts",
                    "%s gets %zu tools in a host that is known to show tools only, and none in "
                    "others; --resource-tools offers them to every host",
                    principal, count);
    else
        doctor_find(FINDING_WARNING, "hosts",
                    "%s sees resources and no tools, and most hosts show tools only: "
                    "without --no-resource-tools the resources are offered as tools",
                    principal);
}

static void show(mcp_loop *loop, mcp_server *server, const char *principal, mcp_json_writer *w)
{
    asking a = {.loop = loop};
    if (mcp_server_connect(
            server,
            MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = &a,
                        .principal = strcmp(principal, "anonymous") == 0 ? NULL : principal),
            &a.channel, NULL) != MCP_OK)
        return;
    if (w) {
        mcp_json_begin_object(w);
        mcp_json_put_string(w, "principal", principal);
    } else {
        printf("\nas %s:\n", principal);
    }
    bool resources = false, tools = false;
    for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++) {
        const mcp_json *result = ask(&a, lists[l].method, ANY_HOST);
        bool any = mcp_json_count(mcp_json_get(result, lists[l].array)) > 0;
        resources = resources || (any && l < 2);
        tools = tools || (any && strcmp(lists[l].one, "tool") == 0);
        if (!result && mcp_json_get(mcp_json_root(a.answer), "error")) /* not offered */
            result = NULL;
        else if (!result)
            doctor_find(FINDING_WRONG, lists[l].one, "%s does not end", lists[l].method);
        if (w)
            put_list(w, l, result);
        else
            print_list(l, result);
    }
    if (resources && !tools)
        find_tools(principal, ask(&a, "tools/list", TOOLS_ONLY));
    if (w)
        mcp_json_end(w);
    mcp_json_free(a.answer);
    mcp_channel_free(a.channel);
}

/* Adds a principal unless it is in the list already. */
static void add_principal(const char *name, const char **list, size_t *n)
{
    if (*n == MOST_PRINCIPALS)
        return;
    for (size_t i = 0; i < *n; i++)
        if (strcmp(list[i], name) == 0)
            return;
    list[(*n)++] = name;
}

/* Lists the principals that can connect, and returns their number. Without access rules, all tokens
 * count as one. */
static size_t principals(const settings *now, config *c, const tokens *known, const char **list)
{
    size_t n = 0;
    const char *name;
    bool rules = c && mcp_json_get(config_root(c), "access");
    if (!now->http.count || now->stdio)
        add_principal("stdio", list, &n);
    if (now->http.count && !known)
        add_principal("anonymous", list, &n);
    for (size_t i = 0; rules && (name = tokens_principal(known, i)) != NULL; i++)
        add_principal(name, list, &n);
    if (n == MOST_PRINCIPALS)
        doctor_find(FINDING_OK, "tokens", "only %d principals are shown", MOST_PRINCIPALS);
    if (n == 0)
        add_principal("anybody with a token", list, &n);
    return n;
}

/* Receives what the server would log. */
static void on_log(const char *level, const char *line, void *user)
{
    (void)user;
    bool wrong = strcmp(level, "error") == 0;
    if (wrong || strcmp(level, "warning") == 0)
        doctor_find(wrong ? FINDING_WRONG : FINDING_WARNING, "log", "%s", line);
}

int doctor_offer(const settings *now, offer *o, mcp_json_writer *w)
{
    const char *list[MOST_PRINCIPALS];
    mcp_error error = {0};
    mcp_loop *loop = NULL;
    mcp_server *server = NULL;
    mcp_prompts *prompts = NULL;
    tokens *known = NULL;
    int rc = mcp_loop_new(NULL, &loop, &error);
    if (rc == MCP_OK) {
        mcp_host host = *mcp_loop_host(loop);
        host.log = on_log;
        rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "mcpd", .version = "1",
                                        .page_size = (size_t)now->page_size,
                                        .list_ms = now->list_ms, .host = &host),
                            &server, &error);
    }
    if (rc == MCP_OK)
        rc = offer_make(o, server, &error);
    if (rc == MCP_OK && now->prompts)
        rc = mcp_prompts_add(
            server, MCP_OPTIONS(mcp_prompts_options, .folder = now->prompts, .no_watch = true),
            &prompts, &error);
    if (rc != MCP_OK && error.text[0])
        doctor_find(FINDING_WRONG, "offer", "%s", error.text);
    else if (rc != MCP_OK)
        doctor_find(FINDING_WRONG, "offer", "it cannot be served: see above");
    (void)tokens_load(now->token_file, o->config, &known, &error); /* already reported */
    size_t n = rc == MCP_OK ? principals(now, o->config, known, list) : 0;
    for (size_t i = 0; i < n; i++)
        show(loop, server, list[i], w);
    if (loop)
        mcp_loop_drain(loop, 2000);
    mcp_prompts_free(prompts);
    offer_leave(o);
    tokens_free(known);
    mcp_server_free(server);
    mcp_loop_free(loop);
    return rc;
}
