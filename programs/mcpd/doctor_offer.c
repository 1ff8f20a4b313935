/* doctor_offer.c: queries the server for what hosts would see, once for each principal of the
 * configuration.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <common/text.h>
#include <mcp/auth.h>
#include <mcp/io.h>
#include <prompts.h>

#include "doctor.h"
#include "inquiry.h"
#include "oauth.h"
#include "source_write.h"
#include "tokens.h"

enum { SHOWN = 5, MOST_PRINCIPALS = 32, ANSWER_S = 20 };

/* The resource tools may be listed only for hosts that are known to show nothing but tools. */
#define ANY_HOST   "mcpd"
#define TOOLS_ONLY "codex-mcp-client"

/* ---- one list -------------------------------------------------------------------------------- */

static const struct {
    const char *method, *array, *key, *one;
} lists[] = {
    {"resources/list", "resources", "uri", "resource"},
    {"resources/templates/list", "resourceTemplates", "uriTemplate", "template"},
    {"prompts/list", "prompts", "name", "prompt"},
    {"tools/list", "tools", "name", "tool"},
};

/* What is known of one list. */
typedef struct seen {
    inquiry_outcome outcome;
    const mcp_json *result;
    char why[200]; /* there is no list */
} seen;

static seen look(const inquiry_question *q, size_t l)
{
    seen s = {.outcome = q->outcome, .result = q->outcome == INQUIRY_RESULT ? q->answer : NULL};
    mcp_str text = mcp_json_string(mcp_json_get(q->answer, "message"));
    if (s.outcome == INQUIRY_NO_ANSWER)
        snprintf(s.why, sizeof(s.why), "there was no answer within %d s", ANSWER_S);
    else if (s.outcome == INQUIRY_ERROR)
        snprintf(s.why, sizeof(s.why), "%.150s", text.len ? text.ptr : "the error has no message");
    if (s.why[0])
        doctor_find(FINDING_WRONG, lists[l].one, "%s: %s", lists[l].method, s.why);
    return s;
}

static void print_list(size_t l, const seen *s)
{
    const mcp_json *array = mcp_json_get(s->result, lists[l].array);
    size_t count = mcp_json_count(array), i = 0;
    bool more = mcp_json_get(s->result, "nextCursor") != NULL;
    mcp_json_iter it = {0};
    if (s->why[0]) {
        printf("  %ss are not known: ", lists[l].one);
        text_put(stdout, mcp_str_from(s->why), TEXT_LINE);
        putchar('\n');
        return;
    }
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

static void put_list(mcp_json_writer *w, size_t l, const seen *s)
{
    const mcp_json *array = mcp_json_get(s->result, lists[l].array);
    size_t i = 0;
    mcp_json_iter it = {0};
    mcp_json_key(w, lists[l].array);
    mcp_json_begin_object(w);
    if (s->why[0]) {
        mcp_json_key(w, "error"), mcp_json_add_string(w, s->why);
        mcp_json_end(w);
        return;
    }
    mcp_json_key(w, "count"), mcp_json_add_uint(w, mcp_json_count(array));
    mcp_json_key(w, "more"), mcp_json_add_bool(w, mcp_json_get(s->result, "nextCursor") != NULL);
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

/* Makes the identity of a caller: the name of a token, or the claims of an access token. *ret is NULL for an
 * anonymous caller in no view. */
static int identity_of(const char *caller, const char *in_view, const config *c, mcp_identity **ret,
                       mcp_error *error)
{
    char principal[1024];
    mcp_json_doc *doc = NULL;
    *ret = NULL;
    bool anonymous = strcmp(caller, "anonymous") == 0;
    if (anonymous && !in_view)
        return MCP_OK;
    if (caller[0] != '{')
        return mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .view = in_view,
                                            .principal = anonymous ? NULL : caller),
                                ret, error);
    int rc = mcp_json_parse(mcp_str_from(caller), NULL, NULL, &doc, error);
    const mcp_json *claims = mcp_json_root(doc), *issuer = mcp_json_get(claims, "iss");
    mcp_str name = mcp_json_string(mcp_json_get(claims, "sub"));
    if (rc == MCP_OK && !issuer)
        issuer = mcp_json_get(mcp_json_at(mcp_json_get(oauth_section(c), "issuers"), 0), "issuer");
    const char *from = mcp_json_string(issuer).ptr;
    if (rc == MCP_OK)
        rc = mcp_auth_principal(from ? from : "", name.len ? name : MCP_STR("somebody"), principal,
                                sizeof(principal), &(size_t){0});
    if (rc == MCP_EINVAL)
        snprintf(error->text, sizeof(error->text),
                 "claims need an issuer: \"iss\", or the section oauth");
    if (rc == MCP_OK)
        rc = mcp_identity_new(
            MCP_OPTIONS(mcp_identity_options, .principal = principal, .claims = caller,
                        .scopes = mcp_json_string(mcp_json_get(claims, "scope")).ptr,
                        .issuer = from, .view = in_view),
            ret, error);
    mcp_json_free(doc);
    return rc;
}

/* ---- what may be changed --------------------------------------------------------------------- */

static void print_change(const char *line, void *user)
{
    bool *any = user;
    printf("%s    ", *any ? "" : "  changes\n");
    text_put(stdout, mcp_str_from(line), TEXT_LINE);
    putchar('\n');
    *any = true;
}

static void put_change(const char *line, void *user)
{
    mcp_json_add_string(user, line);
}

/* Shows the rules about changes, in their order. `identity` may be NULL. */
static void show_changes(const offer *o, const mcp_identity *identity, mcp_json_writer *w)
{
    bool shown = false;
    if (w) {
        mcp_json_key(w, "changes");
        mcp_json_begin_array(w);
        access_tell_changes(o->all_rules, identity, put_change, w);
        mcp_json_end(w);
    } else if (!access_tell_changes(o->all_rules, identity, print_change, &shown)) {
        printf("  nothing may be changed\n");
    }
}

/* What a folder's parameter grants is for the host alone. */
static void look_at_writes(const settings *now)
{
    bool host = !now->http.count || now->stdio;
    for (size_t i = 0; !host && i < now->sources.count; i++)
        if (source_write_any(&now->sources.items[i]))
            doctor_find(FINDING_WARNING, "changes",
                        "write on %s is for the host that starts the program: over HTTP nobody "
                        "may change anything by it; write a rule with operations in access",
                        now->sources.items[i].text);
}

/* Shows what a caller sees, in a view unless `in_view` is NULL. */
static void show(mcp_loop *loop, mcp_server *server, const char *principal, const char *in_view,
                 const offer *o, mcp_json_writer *w)
{
    const config *c = o->config;
    inquiry i;
    mcp_identity *identity;
    mcp_error error = {0};
    int rc = identity_of(principal, in_view, c, &identity, &error);
    if (rc == MCP_OK)
        rc = inquiry_begin(&i, loop, server, identity, ANSWER_S * 1000);
    if (rc != MCP_OK) {
        mcp_identity_unref(identity);
        doctor_find(FINDING_WRONG, "offer", "as %s: %s", principal,
                    error.text[0] ? error.text : mcp_error_text(rc));
        return;
    }
    if (w) {
        mcp_json_begin_object(w);
        mcp_json_put_string(w, "principal", principal);
        if (in_view)
            mcp_json_put_string(w, "view", in_view);
    } else {
        printf("\nas %s%s%s:\n", principal, in_view ? " in the view " : "", in_view ? in_view : "");
    }
    enum { LISTS = sizeof(lists) / sizeof(*lists) };
    inquiry_question questions[LISTS + 1] = {
        [LISTS] = {.method = "tools/list", .client = TOOLS_ONLY}};
    for (size_t l = 0; l < LISTS; l++)
        questions[l] = (inquiry_question){.method = lists[l].method, .client = ANY_HOST};
    inquiry_ask(&i, questions, LISTS + 1);
    bool resources = false, tools = false;
    for (size_t l = 0; l < LISTS; l++) {
        seen s = look(&questions[l], l);
        bool any = mcp_json_count(mcp_json_get(s.result, lists[l].array)) > 0;
        resources = resources || (any && l < 2);
        tools = tools || (strcmp(lists[l].one, "tool") == 0 && (any || s.why[0]));
        if (w)
            put_list(w, l, &s);
        else
            print_list(l, &s);
    }
    if (resources && !tools && questions[LISTS].outcome != INQUIRY_NO_ANSWER)
        find_tools(principal, questions[LISTS].answer);
    show_changes(o, identity, w);
    mcp_identity_unref(identity);
    if (w)
        mcp_json_end(w);
    inquiry_free_answers(questions, LISTS + 1);
    inquiry_end(&i);
}

/* Shows what a caller sees without a view and in each view, or in the one of --view. */
static void show_all(const settings *now, mcp_loop *loop, mcp_server *server, const char *principal,
                     const offer *o, mcp_json_writer *w)
{
    const views *all = access_views(o->all_rules);
    if (!now->view)
        show(loop, server, principal, NULL, o, w);
    for (size_t i = 0; i < views_count(all); i++) {
        const char *name = view_name(views_at(all, i));
        if (!now->view || strcmp(now->view, name) == 0)
            show(loop, server, principal, name, o, w);
    }
    if (now->view && !views_find(all, mcp_str_from(now->view)))
        doctor_find(FINDING_WRONG, "view", "there is no view %s in \"views\" of the configuration",
                    now->view);
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
    look_at_writes(now);
    size_t n = rc != MCP_OK ? 0 : now->as ? 1 : principals(now, o->config, known, list);
    for (size_t i = 0; i < n; i++)
        show_all(now, loop, server, now->as ? now->as : list[i], o, w);
    if (loop)
        mcp_loop_drain(loop, 2000);
    mcp_prompts_free(prompts);
    offer_leave(o);
    tokens_free(known);
    mcp_server_free(server);
    mcp_loop_free(loop);
    return rc;
}
