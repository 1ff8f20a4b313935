/* confirm.c: see confirm.h.
 *
 * The request's state, which the engine seals for the caller and the request, has the question that
 * was asked: its number, its time, the process that asked it, its text and its binding. An answer
 * counts only for exactly that. Its key contains the request's series, which nobody can guess before
 * the question was sent, and the number of the question: an answer to another question of the same
 * request has another key. What is used up is remembered by the series.
 */
#include "confirm.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <mcp/sys/forward.h>

#include "confirm_text.h"

enum {
    LIFETIME_MS = 5 * 60 * 1000,
    REFUSALS = 3,
    REFUSALS_MS = 10 * 60 * 1000,
    CALLERS = 256,
    USED = 64,     /* ended requests of one caller within LIFETIME_MS */
    QUESTIONS = 3, /* of one request, whose things change again and again */
    SERIES = 32,   /* bytes of mcp_request_series() */
    BINDING = 512, /* bytes; with all texts the state stays within its 8 KiB */
};

typedef struct used {
    char series[SERIES + 1];
    int64_t at;
} used;

typedef struct caller {
    struct caller *next;
    char *principal; /* NULL for all that are anonymous */
    int64_t refused[REFUSALS];
    size_t n_refused;
    used used[USED];
    size_t n_used;
} caller;

struct common_confirms {
    mcp_allocator alloc;
    char process[SERIES + 1]; /* a random name of this memory */
    caller *callers;
};

int common_confirms_new(const mcp_allocator *alloc, common_confirms **ret)
{
    unsigned char bytes[SERIES / 2];
    mcp_allocator own = common_allocator(alloc);
    *ret = NULL;
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return MCP_EIO;
    common_confirms *made = common_alloc(&own, sizeof(*made));
    if (!made)
        return MCP_ENOMEM;
    *made = (common_confirms){.alloc = own};
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(made->process + 2 * i, 3, "%02x", (unsigned)bytes[i]);
    *ret = made;
    return MCP_OK;
}

static void caller_free(common_confirms *memory, caller *c)
{
    common_release(&memory->alloc, c->principal);
    common_release(&memory->alloc, c);
}

void common_confirms_free(common_confirms *memory)
{
    if (!memory)
        return;
    for (caller *c = memory->callers, *next; c; c = next) {
        next = c->next;
        caller_free(memory, c);
    }
    mcp_allocator alloc = memory->alloc;
    common_release(&alloc, memory);
}

/* ---- what is remembered of a caller ---------------------------------------------------------- */

/* Forgets what is too old to matter. Both lists are in the order of their times. */
static void forget_old(caller *c, int64_t now)
{
    size_t old = 0;
    while (old < c->n_used && now - c->used[old].at > LIFETIME_MS)
        old++;
    memmove(c->used, c->used + old, (c->n_used -= old) * sizeof(*c->used));
    old = 0;
    while (old < c->n_refused && now - c->refused[old] >= REFUSALS_MS)
        old++;
    memmove(c->refused, c->refused + old, (c->n_refused -= old) * sizeof(*c->refused));
}

static bool is_of(const caller *c, const char *principal)
{
    return c->principal && principal ? strcmp(c->principal, principal) == 0
                                     : !c->principal && !principal;
}

static caller *add_caller(common_confirms *memory, const char *principal)
{
    caller *c = common_alloc(&memory->alloc, sizeof(*c));
    if (!c)
        return NULL;
    *c = (caller){.next = memory->callers};
    if (principal && !(c->principal = common_copy(&memory->alloc, principal, strlen(principal)))) {
        common_release(&memory->alloc, c);
        return NULL;
    }
    memory->callers = c;
    return c;
}

/* Finds or adds the caller. Callers of whom nothing is left are forgotten. *ret is NULL if there are
 * too many. Returns MCP_OK or MCP_ENOMEM. */
static int find_caller(common_confirms *memory, const char *principal, int64_t now, caller **ret)
{
    size_t n = 0;
    *ret = NULL;
    for (caller **at = &memory->callers; *at;) {
        caller *c = *at;
        forget_old(c, now);
        if (is_of(c, principal))
            *ret = c;
        if (!is_of(c, principal) && !c->n_used && !c->n_refused) {
            *at = c->next;
            caller_free(memory, c);
            continue;
        }
        n++;
        at = &c->next;
    }
    if (*ret || n >= CALLERS)
        return MCP_OK;
    *ret = add_caller(memory, principal);
    return *ret ? MCP_OK : MCP_ENOMEM;
}

static bool is_used(const caller *c, const char *series)
{
    for (size_t i = 0; i < c->n_used; i++)
        if (strcmp(c->used[i].series, series) == 0)
            return true;
    return false;
}

/* Ends the request: no answer to it counts any more. There is room, or nothing would be asked. */
static void use_up(caller *c, const char *series, int64_t now)
{
    used *u = &c->used[c->n_used++];
    snprintf(u->series, sizeof(u->series), "%s", series);
    u->at = now;
}

/* ---- the question in the state --------------------------------------------------------------- */

typedef struct head {
    int64_t asked;   /* when */
    uint64_t number; /* of the question within the request; the first one is 1 */
    char process[SERIES + 8];
} head;

/* One call of common_confirm(). */
typedef struct asking {
    mcp_request *req;
    common_confirms *memory;
    const common_change *what;
    int64_t now;
    const char *series;
    caller *caller;
    common_buffer body; /* what must be the same: the caller with its view, the text, the binding */
    size_t text;        /* where the text is in it */
    head before;        /* the question of the last round; .number is 0 if there is none */
    bool same;          /* this one is the same question */
} asking;

/* Only the last part may contain a NUL. */
static int put_body(asking *a)
{
    const char *who = mcp_request_binding(a->req);
    bool ok = common_put(&a->body, who ? "=" : "") && common_put(&a->body, who ? who : "") &&
              common_buffer_append(&a->body, "", 1) == MCP_OK;
    a->text = a->body.len;
    int rc = ok ? confirm_put_text(&a->body, a->what) : MCP_ENOMEM;
    mcp_str binding = a->what->binding;
    return rc == MCP_OK ? common_buffer_append(&a->body, binding.ptr, binding.len) : rc;
}

/* Reads the question of the last round. One of another process counts as none. */
static void read_state(asking *a)
{
    mcp_str state = mcp_request_state(a->req);
    if (state.len < sizeof(a->before))
        return;
    memcpy(&a->before, state.ptr, sizeof(a->before));
    if (memcmp(a->before.process, a->memory->process, SERIES) != 0)
        a->before.number = 0;
    a->same = a->before.number && state.len - sizeof(a->before) == a->body.len &&
              memcmp(state.ptr + sizeof(a->before), a->body.ptr, a->body.len) == 0;
}

static int write_state(asking *a, uint64_t number)
{
    head h;
    common_buffer state;
    memset(&h, 0, sizeof(h)); /* its padding, too */
    h.asked = a->now;
    h.number = number;
    memcpy(h.process, a->memory->process, SERIES);
    common_buffer_init(&state, &a->memory->alloc);
    int rc = common_buffer_append(&state, &h, sizeof(h));
    if (rc == MCP_OK)
        rc = common_buffer_append(&state, a->body.ptr, a->body.len);
    if (rc == MCP_OK)
        rc = mcp_request_set_state(a->req, (mcp_str){state.ptr, state.len});
    common_buffer_free(&state);
    return rc;
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Replies that nothing was done. */
static int deny(const asking *a, const char *why)
{
    int rc = mcp_reply_tool_error(a->req, "Nothing was done: %s", why);
    return rc == MCP_OK ? MCP_EREMOTE : rc;
}

/* After how many minutes something is over, at least 1. */
static int minutes(int64_t ms)
{
    return ms <= 60 * 1000 ? 1 : (int)((ms + 60 * 1000 - 1) / (60 * 1000));
}

static int refuse(asking *a, const char *why)
{
    caller *c = a->caller;
    use_up(c, a->series, a->now);
    if (c->n_refused < REFUSALS)
        c->refused[c->n_refused++] = a->now;
    return deny(a, why);
}

/* Whether the person must not be asked. Otherwise returns MCP_OK. */
static int check_caller(const asking *a)
{
    char text[200];
    const caller *c = a->caller;
    if (!c)
        return deny(a,
                    "too many callers were asked for their consent within ten minutes; try again "
                    "later");
    if (is_used(c, a->series))
        return deny(a,
                    "this request was answered already, and an answer is good once; call the tool "
                    "again to ask again");
    if (c->n_refused == REFUSALS) {
        snprintf(text, sizeof(text),
                 "the person at the client refused %d times within ten minutes, and is not asked "
                 "again for %d min; do not try it in another way",
                 REFUSALS, minutes(REFUSALS_MS - (a->now - c->refused[0])));
        return deny(a, text);
    }
    if (c->n_used == USED) {
        snprintf(
            text, sizeof(text),
            "%d changes were asked about within five minutes, which is the limit; try again in "
            "%d min",
            USED, minutes(LIFETIME_MS - (a->now - c->used[0].at)));
        return deny(a, text);
    }
    return MCP_OK;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"decision\":{\"type\":\"string\",\"title\":\"Decision\","
    "\"enum\":[\"do it\",\"do not\"]}},\"required\":[\"decision\"]}";

static int elicit(const asking *a, uint64_t number, mcp_elicited *answer)
{
    char key[32 + 2 * SERIES];
    snprintf(key, sizeof(key), "confirm-%s-%s-%u", a->series, a->memory->process, (unsigned)number);
    return mcp_request_elicit(
        a->req, key, MCP_OPTIONS(mcp_elicit, .message = a->body.ptr + a->text, .schema = schema),
        answer);
}

static int ask_anew(asking *a)
{
    mcp_elicited answer;
    uint64_t number = a->before.number + 1;
    if (number > QUESTIONS) {
        use_up(a->caller, a->series, a->now);
        return deny(a, "it changed again each time the person at the client was asked; try again "
                       "when nobody else changes it");
    }
    int rc = write_state(a, number);
    if (rc == MCP_OK)
        rc = elicit(a, number, &answer);
    if (rc == MCP_INPUT_REQUIRED)
        mcp_request_stay(a->req); /* what is used up is remembered here */
    /* Nobody knows the key before. */
    return rc == MCP_OK ? deny(a, "the client answered a question before it was asked") : rc;
}

static int take_answer(asking *a)
{
    mcp_elicited answer;
    if (a->now - a->before.asked > LIFETIME_MS || a->now < a->before.asked) {
        use_up(a->caller, a->series, a->now);
        return deny(a, "the answer came after more than five minutes; call the tool again to ask "
                       "again");
    }
    int rc = elicit(a, a->before.number, &answer);
    if (rc == MCP_INPUT_REQUIRED)
        return refuse(a,
                      "the client accepted without the decision \"do it\" or \"do not\", which is "
                      "no consent");
    if (rc == MCP_EREMOTE)
        return refuse(a, "the client did not ask the person: it answered with an error");
    if (rc != MCP_OK)
        return rc;
    mcp_str decision = mcp_json_string(mcp_json_get(answer.content, "decision"));
    if (answer.action != MCP_ACTION_ACCEPT || !mcp_str_eq(decision, MCP_STR("do it")))
        return refuse(a, "the person at the client refused; do not try it in another way");
    use_up(a->caller, a->series, a->now);
    return MCP_OK;
}

/* Everything that is needed to ask. */
static int prepare(asking *a)
{
    a->series = mcp_request_series(a->req);
    if (!a->series)
        return MCP_ENOMEM;
    int rc = find_caller(a->memory, mcp_request_principal(a->req), a->now, &a->caller);
    if (rc == MCP_OK)
        rc = put_body(a);
    if (rc == MCP_OK)
        read_state(a);
    return rc;
}

int common_confirm(mcp_request *req, common_confirms *memory, const common_change *what,
                   int64_t now)
{
    asking a = {.req = req, .memory = memory, .what = what, .now = now};
    if (what->binding.len > BINDING)
        return MCP_ELIMIT;
    if (!mcp_request_can(req, "elicitation.form"))
        return deny(&a,
                    "this needs the consent of a person, and this client cannot ask one (it does "
                    "not declare elicitation with forms). Use a client that can, or let the "
                    "operator of the server allow it by a rule");
    if (confirm_is_too_long(what))
        return deny(&a, "the URI is too long to be shown to the person who has to consent");
    common_buffer_init(&a.body, &memory->alloc);
    int rc = prepare(&a);
    if (rc == MCP_OK)
        rc = check_caller(&a);
    if (rc == MCP_OK)
        rc = a.before.number && a.same ? take_answer(&a) : ask_anew(&a);
    common_buffer_free(&a.body);
    return rc;
}
