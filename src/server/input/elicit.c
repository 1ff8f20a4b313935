/* elicit.c: elicitation: a form for the user, or a URL for the user to visit (2026-07-28,
 * client/elicitation; 2025-11-25 and 2025-06-18, the same page).
 */
#include <stdio.h>

#include "protocol/form.h"
#include "server/input/input.h"
#include "server/methods/methods.h"

enum { MAX_ELICITATIONS = 256 /* elicitations in URL mode that a session stores */ };

static const char method[] = "elicitation/create";

/* ---- input requests ------------------------------------------------------------------------- */

static int put_schema(mcp_request *req, mcp__buf *b, const char *text)
{
    mcp_json_doc *doc = NULL;
    mcp_error why = {0};
    int rc = mcp_json_parse(mcp_str_from(text), NULL, &req->server->allocator, &doc, &why);
    const mcp_json *schema = mcp_json_root(doc);
    if (rc == MCP_OK)
        rc = mcp__form_check(schema, &why);
    if (rc == MCP_EINVAL || rc == MCP_EPARSE) {
        mcp_json_free(doc);
        return mcp__reply_explain(req, rc, "the schema of a form: %s", why.text);
    }
    if (rc == MCP_OK && req->revision->elicitation_modes)
        mcp__json_put_value(b, schema);
    else if (rc == MCP_OK)
        rc = mcp__form_put_old(b, schema, mcp_str_from(text));
    mcp_json_free(doc);
    if (rc == MCP_EUNSUPPORTED)
        return mcp_reply_fail(
            req, req->revision->missing_capability_code,
            "This needs a form with lists of choices, which revision %s does not have",
            req->revision->name);
    return rc;
}

static int put_form(mcp_request *req, const void *what, mcp__buf *b)
{
    const mcp_elicit *e = what;
    if (!e->message)
        return MCP_EINVAL;
    mcp__object o = mcp__object_begin(b, req->revision);
    if (req->revision->elicitation_modes)
        mcp__object_str(&o, "mode", "form");
    mcp__object_str(&o, "message", e->message);
    mcp__object_key(&o, "requestedSchema");
    int rc = put_schema(req, b, e->schema);
    mcp__object_end(&o);
    return rc;
}

static int put_url(mcp_request *req, const void *what, mcp__buf *b)
{
    const mcp_elicit *e = what;
    mcp_uri uri;
    mcp_error why = {0};
    if (!e->message || mcp_uri_parse(mcp_str_from(e->url), &uri, &why) != MCP_OK)
        return MCP_EINVAL;
    mcp__object o = mcp__object_begin(b, req->revision);
    mcp__object_str(&o, "mode", "url");
    mcp__object_str(&o, "message", e->message);
    mcp__object_str(&o, "url", e->url);
    if (req->revision->elicitation_id)
        mcp__object_str(&o, "elicitationId", e->elicitation_id);
    mcp__object_end(&o);
    return MCP_OK;
}

/* ---- the answers ----------------------------------------------------------------------------- */

static bool read_action(const mcp_json *result, mcp_action *ret)
{
    static const char *const names[] = {"accept", "decline", "cancel"};
    mcp_str action = mcp_json_string(mcp_json_get(result, "action"));
    for (unsigned i = 0; i < MCP__COUNT(names); i++) {
        if (mcp_str_eq(action, mcp_str_from(names[i]))) {
            *ret = (mcp_action)i;
            return true;
        }
    }
    return false;
}

/* Returns the content of a form, or an empty object if the content is missing. */
static const mcp_json *content_of(const mcp_request *req, const mcp_json *result)
{
    const mcp_json *content = mcp_json_get(result, "content");
    return content ? content : mcp_json_root(req->server->no_arguments);
}

static bool conforms(const mcp_request *req, const char *text, const mcp_json *content)
{
    const mcp_allocator *allocator = &req->server->allocator;
    mcp_json_doc *doc = NULL;
    mcp_schema *schema = NULL;
    int rc = mcp_json_parse(mcp_str_from(text), NULL, allocator, &doc, NULL);
    if (rc == MCP_OK)
        rc = mcp_schema_compile(NULL, mcp_json_root(doc),
                                MCP_OPTIONS(mcp_schema_options, .allocator = allocator), &schema,
                                NULL);
    if (rc == MCP_OK)
        rc = mcp_schema_validate(schema, content, NULL);
    mcp_schema_free(schema);
    mcp_json_free(doc);
    return rc == MCP_OK;
}

static bool form_fits(mcp_request *req, const void *what, const mcp_json *value)
{
    const mcp_elicit *e = what;
    mcp_action action;
    if (!read_action(value, &action))
        return false;
    if (action != MCP_ACTION_ACCEPT)
        return true;
    const mcp_json *content = content_of(req, value);
    return mcp_json_is(content, MCP_JSON_OBJECT) && conforms(req, e->schema, content);
}

static bool url_fits(mcp_request *req, const void *what, const mcp_json *value)
{
    mcp_action action;
    (void)req, (void)what;
    return read_action(value, &action);
}

/* ---- ids of elicitations in URL mode: 2025-11-25 --------------------------------------------- */

typedef struct elicitation {
    mcp__link link; /* in session->elicitations, oldest first */
    char id[];
} elicitation;

static void forget(mcp__session *session, elicitation *e)
{
    mcp__list_remove(&e->link);
    session->n_elicitations--;
    mcp__release(&session->server->allocator, e);
}

void mcp__elicitations_free(mcp__session *session)
{
    while (!mcp__list_empty(&session->elicitations))
        forget(session, mcp__container(session->elicitations.next, elicitation, link));
}

static elicitation *find(const mcp__session *session, const char *id)
{
    for (mcp__link *l = session->elicitations.next; l != &session->elicitations; l = l->next) {
        elicitation *e = mcp__container(l, elicitation, link);
        if (strcmp(e->id, id) == 0)
            return e;
    }
    return NULL;
}

int mcp__elicitation_remember(mcp_request *req, const char *id)
{
    mcp__session *session = mcp__request_session(req);
    if (!id || !req->revision->elicitation_id || !session || find(session, id))
        return MCP_OK;
    size_t len = strlen(id);
    elicitation *e = mcp__alloc(&req->server->allocator, sizeof(*e) + len + 1);
    if (!e)
        return MCP_ENOMEM;
    memcpy(e->id, id, len + 1);
    mcp__list_append(&session->elicitations, &e->link);
    if (++session->n_elicitations > MAX_ELICITATIONS)
        forget(session, mcp__container(session->elicitations.next, elicitation, link));
    return MCP_OK;
}

static void notify_complete(mcp__session *session, const char *id)
{
    mcp__buf params;
    mcp__buf_init(&params, &session->server->allocator, 0);
    mcp__buf_lit(&params, "{\"elicitationId\":");
    mcp__json_put_str(&params, mcp_str_from(id));
    mcp__buf_char(&params, '}');
    if (!params.failed)
        mcp__channel_notify(session->channel, 0, MCP_STR("notifications/elicitation/complete"),
                            mcp__buf_view(&params));
    mcp__buf_free(&params);
}

void mcp_server_elicitation_complete(mcp_server *server, const char *elicitation_id)
{
    for (mcp__link *l = server->sessions.next; l != &server->sessions; l = l->next) {
        mcp__session *session = mcp__container(l, mcp__session, link);
        elicitation *e = find(session, elicitation_id);
        if (!e)
            continue;
        notify_complete(session, elicitation_id);
        forget(session, e);
    }
}

const char *mcp__elicitation_id(mcp_request *req, const char *key)
{
    const char *series = mcp_request_series(req);
    size_t room = series ? strlen(series) + strlen(key) + 2 : 0;
    char *id = series ? mcp_request_alloc(req, room) : NULL;
    if (id)
        snprintf(id, room, "%s-%s", series, key);
    return id;
}

/* Generates an id if the revision requires one and the program gave none. */
static int give_id(mcp_request *req, const char *key, mcp_elicit *e)
{
    if (!req->revision->elicitation_id)
        return MCP_OK;
    if (!e->elicitation_id)
        e->elicitation_id = mcp__elicitation_id(req, key);
    return e->elicitation_id ? MCP_OK : MCP_ENOMEM;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static mcp__ask ask_for(const char *key, const mcp_elicit *e)
{
    bool url = e->url != NULL;
    return (mcp__ask){.key = key ? key : "",
                      .method = method,
                      .capability = url ? "elicitation.url" : "elicitation.form",
                      .put = url ? put_url : put_form,
                      .fits = url ? url_fits : form_fits,
                      .what = e};
}

/* Generates the schema of a form from its table of fields, allocated from the request. */
static int make_form(mcp_request *req, mcp_elicit *e)
{
    mcp_str text;
    if (e->fields && !e->n_fields)
        return mcp__reply_explain(req, MCP_EINVAL, "a form has fields, but n_fields is 0");
    if (!e->n_fields)
        return MCP_OK;
    mcp_error why = {0};
    if (e->schema)
        return mcp__reply_explain(req, MCP_EINVAL,
                                  "a form has a schema or a table of fields, not both");
    if (mcp__fields_check(e->fields, e->n_fields, true, &why) != MCP_OK)
        return mcp_reply_fail(req, MCP__INTERNAL_ERROR, "Internal error: a form: %s", why.text);
    mcp_json_writer *w = mcp_json_writer_new(&req->server->allocator, 0);
    mcp__fields_schema(e->fields, e->n_fields, false, w);
    int rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK && !(e->schema = mcp_request_strdup(req, text)))
        rc = MCP_ENOMEM;
    mcp_json_writer_free(w);
    return rc;
}

int mcp_request_elicit(mcp_request *req, const char *key, const mcp_elicit *what, mcp_elicited *ret)
{
    mcp_elicit e;
    *ret = (mcp_elicited){.action = MCP_ACTION_CANCEL};
    int rc = MCP__TAKE(&e, what, mcp_elicit, NULL);
    if (rc == MCP_OK)
        rc = make_form(req, &e);
    if (rc != MCP_OK || !key || !e.url == !e.schema)
        return rc != MCP_OK ? rc : MCP_EINVAL;
    const mcp_json *result = NULL;
    mcp__ask ask = ask_for(key, &e);
    rc = e.url && mcp_request_can(req, ask.capability) ? give_id(req, key, &e) : MCP_OK;
    if (rc == MCP_OK)
        rc = mcp__input_ask(req, &ask, &result);
    if (rc == MCP_INPUT_REQUIRED && mcp__elicitation_remember(req, e.elicitation_id) != MCP_OK)
        rc = MCP_ENOMEM;
    if (rc != MCP_OK)
        return rc;
    read_action(result, &ret->action);
    if (e.schema && ret->action == MCP_ACTION_ACCEPT)
        ret->content = content_of(req, result);
    return MCP_OK;
}

/* Fails with error -32042. Its data lists the elicitation that must be completed before the request
 * is repeated. */
static int refuse_until_done(mcp_request *req, const mcp_elicit *e)
{
    mcp__buf data;
    mcp__buf_init(&data, &req->server->allocator, 0);
    mcp__buf_lit(&data, "{\"elicitations\":[");
    int rc = put_url(req, e, &data);
    mcp__buf_add(&data, "]}", 3);
    if (rc == MCP_OK)
        rc = data.failed;
    if (rc == MCP_OK)
        rc = mcp_reply_fail_data(req, MCP__URL_REQUIRED, data.ptr, "%s", e->message);
    mcp__buf_free(&data);
    return rc;
}

int mcp_request_elicit_first(mcp_request *req, const char *key, const mcp_elicit *what)
{
    mcp_elicit e;
    if (MCP__TAKE(&e, what, mcp_elicit, NULL) != MCP_OK || !key || !*key || !e.url || e.schema)
        return MCP_EINVAL;
    if (!req->method || !req->method->again)
        return MCP_ESTATE;
    int rc = mcp_request_require(req, "elicitation.url");
    if (rc == MCP_OK)
        rc = give_id(req, key, &e);
    if (rc == MCP_OK)
        rc = mcp__elicitation_remember(req, e.elicitation_id);
    if (rc != MCP_OK)
        return rc;
    mcp__ask ask = ask_for(key, &e);
    return req->revision->url_required ? refuse_until_done(req, &e) : mcp__input_add(req, &ask);
}
