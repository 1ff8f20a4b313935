/* decisions_form.c: the question to a policy server, and its answer; see decisions.h.
 *
 * The question has what the table of arguments names, and of the caller its names. A member that this program does not know
 * is not sent, and an answer that it does not know is a denial.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <common/text.h>
#include <mcp/request.h>

#include "callers.h"
#include "decisions.h"
#include "oauth.h"

/* ---- the caller ------------------------------------------------------------------------------ */

/* The list of groups that the issuer's tokens have, as the rules read it. */
static const mcp_json *groups_of(const mcp_identity *identity, const config *c)
{
    const mcp_json *issuers = mcp_json_get(oauth_section(c), "issuers"), *list = NULL;
    const char *issuer = mcp_identity_issuer(identity);
    mcp_json_iter it = {0};
    for (const mcp_json *v; issuer && (v = mcp_json_next(issuers, &it, NULL)) != NULL;) {
        mcp_str claim = mcp_json_string(mcp_json_get(v, "groups"));
        if (claim.len &&
            mcp_str_eq(mcp_json_string(mcp_json_get(v, "issuer")), mcp_str_from(issuer)))
            list = callers_groups(identity, claim);
    }
    return list;
}

static void put_scopes(mcp_json_writer *w, const char *scopes)
{
    mcp_json_put_array(w, "scopes");
    for (size_t n; scopes && *scopes; scopes += n + (scopes[n] == ' ')) {
        n = strcspn(scopes, " ");
        if (n)
            mcp_json_add_str(w, (mcp_str){scopes, n});
    }
    mcp_json_end(w);
}

static void put_principal(mcp_json_writer *w, const mcp_identity *identity, const config *c)
{
    const char *name = mcp_identity_principal(identity), *issuer = mcp_identity_issuer(identity);
    mcp_str subject = mcp_json_string(mcp_json_get(mcp_identity_claims(identity), "sub"));
    const mcp_json *groups = groups_of(identity, c);
    mcp_json_put_object(w, "principal");
    mcp_json_put_string(w, "name", name ? name : "anonymous");
    if (issuer) {
        mcp_json_put_string(w, "issuer", issuer);
        if (subject.ptr)
            mcp_json_put_str(w, "subject", subject);
        if (groups)
            mcp_json_put_value(w, "groups", groups);
        put_scopes(w, mcp_identity_scopes(identity));
    }
    mcp_json_end(w);
}

/* ---- what will run --------------------------------------------------------------------------- */

static const char *const items[] = {[MCP_ITEM_RESOURCE] = "resource",
                                    [MCP_ITEM_TEMPLATE] = "template",
                                    [MCP_ITEM_PROMPT] = "prompt",
                                    [MCP_ITEM_TOOL] = "tool"};

static void add_thing(mcp_json_writer *w, const mcp_thing *thing)
{
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "type", items[thing->item]);
    mcp_json_put_str(w, "name", thing->name);
    mcp_json_end(w);
}

static void put_things(mcp_json_writer *w, const mcp_intent *intent)
{
    if (intent->n_things == 1) {
        mcp_json_key(w, "thing");
        add_thing(w, intent->things);
    }
    mcp_json_put_array(w, "things");
    for (size_t i = 0; i < intent->n_things; i++)
        add_thing(w, &intent->things[i]);
    mcp_json_end(w);
}

/* The members of the params that are the arguments of a method; "=" is the value of `arguments` itself. */
static const struct {
    const char *method, *members[3];
} rows[] = {
    {"tools/call", {"="}},
    {"prompts/get", {"="}},
    {"resources/read", {"uri"}},
    {"resources/subscribe", {"uri"}},
    {"subscriptions/listen", {"notifications"}},
    {"completion/complete", {"ref", "argument", "context"}},
    {"tasks/get", {"taskId"}},
    {"tasks/update", {"taskId"}},
    {"tasks/cancel", {"taskId"}},
    {"tasks/result", {"taskId"}},
    {"tasks/list", {NULL}},
};

/* What belongs to the protocol, and is no argument of a method that only a provider has. */
static bool is_protocol(mcp_str key)
{
    static const char *const names[] = {"_meta", "requestState", "inputResponses"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (mcp_str_eq(key, mcp_str_from(names[i])))
            return true;
    return false;
}

static bool is_named(const char *const *members, mcp_str key)
{
    for (size_t i = 0; i < 3 && members[i]; i++)
        if (mcp_str_eq(key, mcp_str_from(members[i])))
            return true;
    return false;
}

static void put_arguments(mcp_json_writer *w, const char *method, const mcp_json *params)
{
    const char *const *members = NULL;
    mcp_json_iter it = {0};
    mcp_str key;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(rows[i].method, method) == 0)
            members = rows[i].members;
    bool own = members && members[0] && strcmp(members[0], "=") == 0;
    const mcp_json *from = own ? mcp_json_get(params, "arguments") : params;
    mcp_json_put_object(w, "arguments");
    for (const mcp_json *v; (v = mcp_json_next(from, &it, &key)) != NULL;) {
        if (!own && (members ? !is_named(members, key) : is_protocol(key)))
            continue;
        mcp_json_key_str(w, key);
        mcp_json_add_value(w, v);
    }
    mcp_json_end(w);
}

static mcp_json_writer *begin(void)
{
    enum { MOST = 64 << 20 };
    mcp_json_writer *w = mcp_json_writer_new(NULL, MOST);
    mcp_json_begin_object(w);
    mcp_json_put_object(w, "input");
    return w;
}

static char *end(mcp_json_writer *w)
{
    mcp_str text;
    char *copy = NULL;
    mcp_json_end(w);
    mcp_json_end(w);
    if (w && mcp_json_writer_finish(w, &text) == MCP_OK)
        copy = text_dup(text);
    mcp_json_writer_free(w);
    return copy;
}

char *decisions_question(mcp_request *req, const mcp_intent *intent, const config *c)
{
    const mcp_identity *identity = mcp_request_identity(req);
    const mcp_json *params = mcp_request_params(req);
    const char *of = mcp_identity_view(identity), *method = mcp_request_method(req);
    mcp_json_writer *w = begin();
    put_principal(w, identity, c);
    if (of)
        mcp_json_put_string(w, "view", of);
    mcp_json_put_string(w, "method", method);
    mcp_json_put_string(w, "operation", intent->operation == MCP_OPERATION_CALL ? "call" : "read");
    mcp_json_put_string(w, "revision", mcp_request_revision(req));
    put_things(w, intent);
    put_arguments(w, method, params);
    if (mcp_json_get(params, "task"))
        mcp_json_put_bool(w, "task", true);
    return end(w);
}

char *decisions_probe(void)
{
    mcp_json_writer *w = begin();
    mcp_json_put_object(w, "principal");
    mcp_json_put_string(w, "name", "mcpd --doctor");
    mcp_json_end(w);
    mcp_json_put_string(w, "method", "ping");
    mcp_json_put_string(w, "operation", "read");
    mcp_json_put_array(w, "things");
    mcp_json_end(w);
    mcp_json_put_object(w, "arguments");
    mcp_json_end(w);
    return end(w);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void copy_cut(char *to, size_t room, mcp_str text)
{
    size_t len = text.len < room ? text.len : room;
    while (len && len < text.len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
        len--;
    if (len)
        memcpy(to, text.ptr, len);
    to[len] = '\0';
}

static bool read_effect(const mcp_json *value, mcp_effect *ret)
{
    static const char *const words[] = {
        [MCP_EFFECT_DENY] = "deny", [MCP_EFFECT_ASK] = "ask", [MCP_EFFECT_ALLOW] = "allow"};
    for (int i = 0; i < 3; i++) {
        if (mcp_str_eq(mcp_json_string(value), mcp_str_from(words[i]))) {
            *ret = (mcp_effect)i;
            return true;
        }
    }
    return false;
}

/* Returns what is wrong with the answer, or NULL. */
static const char *read_result(const mcp_json *root, decision *ret)
{
    enum { MOST_MS = 24 * 3600 * 1000 };
    const mcp_json *result = mcp_json_get(root, "result");
    const mcp_json *text = mcp_json_get(result, "text"), *ttl = mcp_json_get(result, "ttl_ms");
    double ms = mcp_json_number(ttl, ttl ? -1 : 0);
    if (!mcp_json_is(root, MCP_JSON_OBJECT) || !result)
        return "it has no decision for this (no \"result\")";
    if (!read_effect(mcp_json_get(result, "effect"), &ret->effect))
        return "its answer has no \"effect\" allow, ask or deny";
    if (text && !mcp_json_is(text, MCP_JSON_STRING))
        return "the \"text\" of its answer is not a string";
    if (!(ms >= 0))
        return "the \"ttl_ms\" of its answer is not a number of milliseconds";
    copy_cut(ret->text, DECISION_TEXT, mcp_json_string(text));
    copy_cut(ret->id, DECISION_ID, mcp_json_string(mcp_json_get(root, "decision_id")));
    ret->ttl_ms = ms < MOST_MS ? (uint64_t)ms : MOST_MS;
    return NULL;
}

static void fail(decision *ret, const char *why)
{
    *ret = (decision){.effect = MCP_EFFECT_DENY, .failed = true};
    snprintf(ret->text, sizeof(ret->text), "%.400s", why);
}

void decisions_read(int rc, const mcp_fetched *fetched, const mcp_error *error, decision *ret)
{
    mcp_json_doc *doc = NULL;
    char status[64];
    *ret = (decision){.effect = MCP_EFFECT_DENY};
    if (rc != MCP_OK) {
        fail(ret, error && error->text[0] ? error->text : mcp_error_text(rc));
        return;
    }
    if (fetched->status != 200) {
        snprintf(status, sizeof(status), "its answer has the status %d", fetched->status);
        fail(ret, status);
        return;
    }
    const char *wrong = "its answer is not JSON";
    if (mcp_json_parse(fetched->body, NULL, NULL, &doc, NULL) == MCP_OK)
        wrong = read_result(mcp_json_root(doc), ret);
    if (wrong)
        fail(ret, wrong);
    mcp_json_free(doc);
}

/* ---- the place ------------------------------------------------------------------------------- */

void decisions_place_clear(decisions_place *place)
{
    free(place->url);
    free(place->socket);
    *place = (decisions_place){.url = NULL};
}

static int wrong_place(const char *text, mcp_error *error)
{
    snprintf(error->text, sizeof(error->text),
             "decisions: %.100s is neither http://HOST/v1/data/RULE, https://HOST/v1/data/RULE nor "
             "unix:SOCKET:/v1/data/RULE",
             text);
    return error->code = MCP_EINVAL;
}

int decisions_place_read(const char *text, decisions_place *ret, mcp_error *error)
{
    static const char local[] = "unix:";
    const char *colon = strstr(text, ":/v1/");
    int rc = MCP_OK;
    *ret = (decisions_place){.url = NULL};
    if (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0) {
        ret->url = strdup(text);
    } else if (strncmp(text, local, sizeof(local) - 1) == 0 && colon && colon > text + 5) {
        ret->socket = strndup(text + 5, (size_t)(colon - text) - 5);
        if (asprintf(&ret->url, "http://localhost%s", colon + 1) < 0)
            ret->url = NULL;
        rc = ret->socket ? MCP_OK : MCP_ENOMEM;
    } else {
        return wrong_place(text, error);
    }
    if (rc == MCP_OK && ret->url)
        return MCP_OK;
    decisions_place_clear(ret);
    return error->code = MCP_ENOMEM;
}
