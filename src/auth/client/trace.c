/* trace.c: what is reported of the steps of an authorization. Secrets are left out: of forms and JSON
 * only the values of the members below are shown. */
#include "auth/client/oauth_client.h"

enum { MOST_TEXT = 1024 };

static const mcp_str shown[] = {
    {"grant_type", 10},
    {"client_id", 9},
    {"redirect_uri", 12},
    {"resource", 8},
    {"scope", 5},
    {"audience", 8},
    {"client_assertion_type", 21},
    {"requested_token_type", 20},
    {"subject_token_type", 18},
    {"token_type_hint", 15},
    {"token_type", 10},
    {"expires_in", 10},
    {"interval", 8},
    {"error", 5},
    {"error_description", 17},
    {"token_endpoint_auth_method", 26},
    {"application_type", 16},
    {"issuer", 6},
    {"authorization_servers", 21},
    {"token_endpoint", 14},
    {"authorization_endpoint", 22},
};

static bool is_shown(mcp_str name)
{
    for (size_t i = 0; i < MCP__COUNT(shown); i++) {
        if (mcp_str_eq(name, shown[i]))
            return true;
    }
    return false;
}

/* Copies a form, with "***" for the values that are not shown. */
static void put_form(mcp__buf *to, mcp_str form)
{
    size_t start = to->len;
    while (form.len) {
        const char *amp = memchr(form.ptr, '&', form.len);
        mcp_str pair = {form.ptr, amp ? (size_t)(amp - form.ptr) : form.len};
        const char *is = memchr(pair.ptr, '=', pair.len);
        mcp_str name = {pair.ptr, is ? (size_t)(is - pair.ptr) : pair.len};
        if (to->len > start)
            mcp__buf_char(to, '&');
        if (is_shown(name)) {
            mcp__buf_str(to, pair);
        } else {
            mcp__buf_str(to, name);
            mcp__buf_lit(to, "=***");
        }
        form = mcp__str_sub(form, amp ? pair.len + 1 : pair.len);
    }
}

/* Writes the members of a JSON object that are shown. */
static void put_json(mcp__buf *to, mcp_str body, const mcp_allocator *allocator)
{
    mcp_json_doc *doc = NULL;
    mcp_json_iter iter = {0};
    const mcp_json *value;
    mcp_str key, text;
    mcp_json_limits limits = {.size = sizeof(limits), .max_bytes = 64 << 10, .max_depth = 16};
    if (!body.len || mcp_json_parse(body, &limits, allocator, &doc, NULL) != MCP_OK)
        return;
    mcp_json_writer *w = mcp_json_writer_new(allocator, MOST_TEXT);
    mcp_json_begin_object(w);
    while (mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT) &&
           (value = mcp_json_next(mcp_json_root(doc), &iter, &key)) != NULL) {
        if (!is_shown(key))
            continue;
        mcp_json_key_str(w, key);
        mcp_json_add_value(w, value);
    }
    mcp_json_end(w);
    if (mcp_json_writer_finish(w, &text) == MCP_OK)
        mcp__buf_str(to, text);
    mcp_json_writer_free(w);
    mcp_json_free(doc);
}

/* The page for a person has its state in the URL, of which only what is shown of a form is. Other URLs are
 * as they are. Returns `url` or the text in `to`, NULL without memory. */
static const char *put_url(mcp__buf *to, const char *what, const char *url)
{
    const char *query = url ? strchr(url, '?') : NULL;
    if (!query || strcmp(what, "authorization") != 0)
        return url;
    size_t path = (size_t)(query - url) + 1;
    mcp__buf_add(to, url, path);
    put_form(to, mcp_str_from(query + 1));
    mcp__buf_char(to, '\0');
    return to->failed ? NULL : to->ptr;
}

/* Reports a step and frees its text. */
static void report(mcp_oauth_client *c, mcp_oauth_step *step, mcp__buf *text)
{
    mcp__buf url;
    mcp__buf_init(&url, &c->allocator, 8 << 10);
    step->size = sizeof(*step);
    step->url = put_url(&url, step->what, step->url);
    mcp__buf_char(text, '\0');
    step->text = text->failed ? "" : text->ptr;
    c->o.trace(c, step, c->o.user);
    mcp__buf_free(&url);
    mcp__buf_free(text);
}

void mcp__oauth_trace_request(mcp_oauth_client *c, const mcp__oauth_request *request)
{
    mcp_oauth_step step = {.what = request->what,
                           .method = request->form || request->json ? "POST" : "GET",
                           .url = request->url};
    mcp__buf text;
    if (!c->o.trace)
        return;
    mcp__buf_init(&text, &c->allocator, MOST_TEXT);
    if (request->form)
        put_form(&text, mcp_str_from(request->form));
    else if (request->json)
        put_json(&text, mcp_str_from(request->json), &c->allocator);
    report(c, &step, &text);
}

void mcp__oauth_trace_answer(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp_oauth_step step = {.what = c->what, .url = answer->url, .status = answer->status};
    mcp__buf text;
    if (!c->o.trace)
        return;
    mcp__buf_init(&text, &c->allocator, MOST_TEXT);
    if (answer->rc < 0)
        mcp__buf_str(&text, mcp_str_from(answer->text ? answer->text : mcp_error_text(answer->rc)));
    else
        put_json(&text, answer->body, &c->allocator);
    report(c, &step, &text);
}

void mcp__oauth_trace_text(mcp_oauth_client *c, const char *what, const char *url, const char *text)
{
    mcp_oauth_step step = {.what = what, .url = url};
    mcp__buf copy;
    if (!c->o.trace)
        return;
    mcp__buf_init(&copy, &c->allocator, 0);
    mcp__buf_str(&copy, mcp_str_from(text));
    report(c, &step, &copy);
}
