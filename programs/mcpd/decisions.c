/* decisions.c: asks the policy server, and acts on what it says; see decisions.h.
 *
 * A decision is used for exactly the question that was sent: after its arrival the request runs again from its start, and if
 * its question is another one then, it is asked, too. Kept decisions are found by the whole question and the token of the
 * caller, and end with both.
 */
#define _GNU_SOURCE
#include "decisions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <common.h>
#include <mcp/audit.h>
#include <mcp/input.h>

#include "capacity.h"
#include "log.h"
#include "secret.h"

enum {
    ANSWER_BYTES = 65536,
    KEPT = 1024,       /* decisions */
    KEPT_BYTES = 8192, /* of one question; longer ones are asked each time */
    ARGUMENTS = 64 << 10,
};

/* A question that waits for its answer. */
typedef struct waiting {
    struct waiting *next;
    decisions *d;
    mcp_request *req;
    mcp_fetch *fetch;
    mcp_identity *identity; /* NULL if the caller is anonymous */
    char *question;
    decision answer;
} waiting;

/* A decision that is valid for a while. */
typedef struct kept {
    char *question, *token; /* NULL without a token; the row is empty without a question */
    uint64_t hash;
    int64_t until;   /* of the host's clock */
    int64_t expires; /* of the token, in milliseconds since 1970; 0: never */
    decision answer;
} kept;

struct decisions {
    mcp_loop *loop;
    const settings *s;
    const offer *offer;
    decisions_place place;
    uint64_t ms;         /* for one answer */
    char *authorization; /* NULL if none */
    common_confirms *confirms;
    waiting *waiting;
    const waiting *answered; /* while its request runs again */
    kept kept[KEPT];
    size_t next;  /* the row that is used next if none is free */
    bool failing; /* the last question had no decision, which was logged */
    decisions_counts counts;
};

static int64_t now_of(const decisions *d)
{
    const mcp_host *host = mcp_loop_host(d->loop);
    return host->now(host->user);
}

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- decisions that are kept ----------------------------------------------------------------- */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void forget(kept *k)
{
    free(k->question);
    free(k->token);
    *k = (kept){.question = NULL};
}

static bool is_over(const decisions *d, const kept *k)
{
    return k->until <= now_of(d) || (k->expires && k->expires <= clock_ms());
}

static const decision *find(decisions *d, const char *question, const mcp_identity *identity)
{
    uint64_t hash = hash_of(question);
    for (size_t i = 0; i < KEPT; i++) {
        kept *k = &d->kept[i];
        if (!k->question || k->hash != hash || strcmp(k->question, question) != 0 ||
            !same(k->token, mcp_identity_token(identity)))
            continue;
        if (!is_over(d, k))
            return &k->answer;
        forget(k);
    }
    return NULL;
}

/* Without memory it is not kept. */
static void keep(decisions *d, const waiting *w)
{
    const char *token = mcp_identity_token(w->identity);
    if (w->answer.failed || !w->answer.ttl_ms || strlen(w->question) > KEPT_BYTES)
        return;
    kept *k = &d->kept[d->next++ % KEPT];
    forget(k);
    *k = (kept){.question = strdup(w->question),
                .token = token ? strdup(token) : NULL,
                .hash = hash_of(w->question),
                .until = now_of(d) + (int64_t)w->answer.ttl_ms,
                .expires = mcp_identity_expires_ms(w->identity),
                .answer = w->answer};
    if (token && !k->token)
        forget(k);
}

/* ---- what a decision does -------------------------------------------------------------------- */

static bool is_plain_call(const mcp_request *req)
{
    return strcmp(mcp_request_method(req), "tools/call") == 0 &&
           !mcp_json_get(mcp_request_params(req), "task");
}

static int refuse(mcp_request *req, const decision *what)
{
    char text[DECISION_TEXT + DECISION_ID + 128];
    const char *why = what->text[0] ? what->text : "no reason is given";
    const char *by =
        what->failed ? "there is no decision, and what is not decided is denied: " : "";
    snprintf(text, sizeof(text), "policy%s%s: %s%s", what->id[0] ? " " : "", what->id, by, why);
    mcp_request_note_denied(req);
    mcp_request_note_reason(req, mcp_str_from(text));
    /* What the server did wrong is for its operator. */
    if (what->failed)
        why = "the policy server gave no decision";
    if (!is_plain_call(req))
        return mcp_reply_fail(req, MCP_CODE_DENIED, "Denied by policy: %s", why);
    int rc = mcp_reply_tool_error(req, "Denied by policy: %s", why);
    return rc == MCP_OK ? MCP_EREMOTE : rc;
}

static int refuse_with(mcp_request *req, const char *why)
{
    decision no = {.effect = MCP_EFFECT_DENY};
    snprintf(no.text, sizeof(no.text), "%s", why);
    return refuse(req, &no);
}

/* The text of the policy and the arguments, which the caller frees; NULL if out of memory. */
static char *content_of(const mcp_request *req, const decision *what)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, ARGUMENTS);
    const mcp_json *arguments = mcp_json_get(mcp_request_params(req), "arguments");
    mcp_str text = MCP_STR("{}");
    char *content = NULL;
    int rc = w ? MCP_OK : MCP_ENOMEM;
    if (rc == MCP_OK && arguments) {
        mcp_json_add_value(w, arguments);
        rc = mcp_json_writer_finish(w, &text);
    }
    if (rc == MCP_OK && asprintf(&content, "%s%s%.*s", what->text, what->text[0] ? "\n" : "",
                                 (int)text.len, text.ptr) < 0)
        content = NULL;
    mcp_json_writer_free(w);
    return content;
}

/* The person consents to this call with these arguments: the engine seals the state of a question for them. */
static int confirm(const decisions *d, mcp_request *req, const mcp_intent *intent,
                   const decision *what)
{
    char *content = content_of(req, what);
    if (!content)
        return refuse_with(req, "the arguments are too long to be shown to the person who has to "
                                "consent");
    const common_change change = {.operation = "call",
                                  .uri = intent->things[0].name,
                                  .content = mcp_str_from(content),
                                  .binding = mcp_str_from(what->text)};
    int rc = common_confirm(req, d->confirms, &change, now_of(d));
    free(content);
    if (rc == MCP_EREMOTE)
        mcp_request_note_denied(req);
    return rc;
}

/* A tool that has asked something itself goes on with the consent that its call has. Its state is not that of our question. */
static int ask_person(const decisions *d, mcp_request *req, const mcp_intent *intent,
                      const decision *what)
{
    static const char asked[] = "mcpd decision asked", given[] = "mcpd decision given";
    if (!is_plain_call(req) || intent->n_things != 1)
        return refuse_with(req, "a person has to consent, and only a call of a tool that is no "
                                "task can ask one");
    if (mcp_request_did(req, given))
        return MCP_OK;
    if (mcp_request_state(req).len && !mcp_request_did(req, asked))
        return refuse_with(req, "a person has to consent, which was not so when the call began; "
                                "call the tool again");
    if (!mcp_request_did(req, asked) && !mcp_request_once(req, asked))
        return MCP_ENOMEM;
    int rc = confirm(d, req, intent, what);
    if (rc == MCP_OK && !mcp_request_once(req, given))
        return MCP_ENOMEM;
    return rc == MCP_OK ? mcp_request_set_state(req, MCP_STR("")) : rc;
}

static int act(const decisions *d, mcp_request *req, const mcp_intent *intent, const decision *what)
{
    switch (what->effect) {
    case MCP_EFFECT_ALLOW: return MCP_OK;
    case MCP_EFFECT_ASK: return ask_person(d, req, intent, what);
    case MCP_EFFECT_DENY: break;
    }
    return refuse(req, what);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void waiting_free(waiting *w)
{
    for (waiting **at = &w->d->waiting; *at; at = &(*at)->next) {
        if (*at != w)
            continue;
        *at = w->next;
        w->d->counts.waiting--;
        break;
    }
    mcp_identity_unref(w->identity);
    free(w->question);
    free(w);
}

static void count(decisions *d, const decision *what)
{
    char line[600];
    uint64_t *const by_effect[] = {[MCP_EFFECT_DENY] = &d->counts.denied,
                                   [MCP_EFFECT_ASK] = &d->counts.asked,
                                   [MCP_EFFECT_ALLOW] = &d->counts.allowed};
    if (!what->failed)
        (*by_effect[what->effect])++;
    else
        d->counts.failed++;
    if (what->failed && !d->failing) {
        snprintf(line, sizeof(line),
                 "decisions: %.100s makes none: %.400s; everything is denied until it does",
                 d->s->decisions, what->text);
        log_line("error", line, NULL);
    } else if (!what->failed && d->failing) {
        log_line("warning", "decisions: the policy server decides again", NULL);
    }
    d->failing = what->failed;
}

static void on_done(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user)
{
    waiting *w = user;
    decisions *d = w->d;
    const waiting *before = d->answered;
    w->fetch = NULL;
    decisions_read(rc, fetched, error, &w->answer);
    count(d, &w->answer);
    keep(d, w);
    d->answered = w;
    mcp_request_decide_again(w->req);
    d->answered = before;
    waiting_free(w);
}

static void on_cancel(mcp_request *req, void *user)
{
    waiting *w = user;
    mcp_fetch_cancel(w->fetch);
    waiting_free(w);
    mcp_reply_finish(req, MCP_ECANCELLED);
}

/* Whether there is room for one more question of this caller. */
static bool has_room(const decisions *d, const mcp_identity *identity)
{
    size_t n = 0;
    for (const waiting *w = d->waiting; w; w = w->next)
        n += same(mcp_identity_principal(w->identity), mcp_identity_principal(identity));
    return d->counts.waiting < DECISIONS_WAITING && n < DECISIONS_WAITING_EACH;
}

static int send(decisions *d, waiting *w)
{
    mcp_error error = {0};
    return mcp_loop_fetch(d->loop,
                          MCP_OPTIONS(mcp_fetch_options, .url = d->place.url,
                                      .unix_socket = d->place.socket, .json = w->question,
                                      .accept = "application/json",
                                      .authorization = d->authorization, .timeout_ms = d->ms,
                                      .max_bytes = ANSWER_BYTES, .allow_private = true,
                                      .no_redirect = true, .done = on_done, .user = w),
                          &w->fetch, &error);
}

/* Takes the question. */
static int ask(decisions *d, mcp_request *req, char *question)
{
    waiting *w = has_room(d, mcp_request_identity(req)) ? calloc(1, sizeof(*w)) : NULL;
    if (!w) {
        free(question);
        d->counts.failed++;
        return refuse_with(req, "too many decisions are awaited; try again later");
    }
    *w = (waiting){.d = d, .req = req, .question = question, .next = d->waiting};
    w->identity = mcp_identity_ref(mcp_request_identity(req));
    d->waiting = w;
    d->counts.waiting++;
    int rc = send(d, w);
    if (rc == MCP_OK) {
        mcp_request_on_cancel(req, on_cancel, w);
        return MCP_PENDING;
    }
    waiting_free(w);
    decision none;
    decisions_read(rc, NULL, NULL, &none);
    count(d, &none);
    return refuse(req, &none);
}

static int decide(mcp_request *req, const mcp_intent *intent, void *user)
{
    decisions *d = user;
    char *question = decisions_question(req, intent, d->offer->config);
    if (!question)
        return MCP_ENOMEM;
    const waiting *now = d->answered;
    const decision *what = NULL;
    if (now && now->req == req && strcmp(now->question, question) == 0)
        what = &now->answer;
    else if ((what = find(d, question, mcp_request_identity(req))) != NULL)
        d->counts.cached++;
    if (!what)
        return ask(d, req, question);
    free(question);
    decision copy = *what; /* the kept one may give way meanwhile */
    return act(d, req, intent, &copy);
}

/* ---- the object ------------------------------------------------------------------------------ */

void decisions_renew(decisions *d)
{
    mcp_error error = {0};
    if (!d)
        return;
    for (size_t i = 0; i < KEPT; i++)
        forget(&d->kept[i]);
    if (secret_renew(d->s->decisions_auth_file, &d->authorization, &error) != MCP_OK)
        log_line("error", error.text, NULL);
}

int decisions_start(const settings *s, const offer *o, mcp_loop *loop, mcp_server *server,
                    decisions **ret, mcp_error *error)
{
    *ret = NULL;
    if (!s->decisions)
        return MCP_OK;
    decisions *d = calloc(1, sizeof(*d));
    if (!d)
        return error->code = MCP_ENOMEM;
    d->loop = loop;
    d->s = s;
    d->ms = capacity_settings(s).decisions_ms;
    d->offer = o;
    int rc = decisions_place_read(s->decisions, &d->place, error);
    if (rc == MCP_OK)
        rc = secret_renew(s->decisions_auth_file, &d->authorization, error);
    if (rc == MCP_OK)
        rc = common_confirms_new(NULL, &d->confirms);
    if (rc != MCP_OK) {
        decisions_stop(d);
        return rc;
    }
    mcp_server_set_decide(server, decide, d);
    *ret = d;
    return MCP_OK;
}

decisions_counts decisions_count(const decisions *d)
{
    return d ? d->counts : (decisions_counts){0};
}

void decisions_stop(decisions *d)
{
    if (!d)
        return;
    for (waiting *w = d->waiting; w; w = d->waiting) {
        d->waiting = w->next;
        mcp_fetch_cancel(w->fetch);
        waiting_free(w);
    }
    for (size_t i = 0; i < KEPT; i++)
        forget(&d->kept[i]);
    common_confirms_free(d->confirms);
    decisions_place_clear(&d->place);
    free(d->authorization);
    free(d);
}
