/* decisions.h: asks a policy server about each request before it runs (--decisions, mcp/decide.h), by the data API of Open
 * Policy Agent: POST {"input": …}, answered with {"result": {"effect": "allow" | "ask" | "deny", "text": …, "ttl_ms": …}}.
 * https://www.openpolicyagent.org/docs/rest-api
 *
 * It only takes away: what rules and views deny is never asked. Every answer that is not exactly of this form, none within
 * the time, and one too many questions at a time are a denial. Tokens are never sent.
 */
#ifndef MCPD_DECISIONS_H
#define MCPD_DECISIONS_H

#include <mcp/decide.h>
#include <mcp/io.h>

#include "config.h"
#include "offer.h"

enum {
    DECISION_TEXT = 512,        /* bytes of a decision's text; more are cut */
    DECISION_ID = 128,          /* bytes of its id */
    DECISIONS_WAITING = 256,    /* questions at a time */
    DECISIONS_WAITING_EACH = 64 /* of one caller */
};

/* What was decided. */
typedef struct decision {
    mcp_effect effect;
    bool failed;     /* there is no decision, so the effect is a denial; `text` says why */
    uint64_t ttl_ms; /* for how long it is valid for the same question; 0: for this request */
    char text[DECISION_TEXT + 1];
    char id[DECISION_ID + 1]; /* decision_id; empty if there is none */
} decision;

typedef struct decisions decisions;

typedef struct decisions_counts {
    uint64_t allowed, asked, denied; /* decisions that the server made */
    uint64_t failed;                 /* questions without a decision */
    uint64_t cached;                 /* decisions that were used again */
    uint64_t waiting;                /* questions now */
} decisions_counts;

/* ---- the form (decisions_form.c) ------------------------------------------------------------- */

/* Returns the question {"input": …} as text, which the caller frees, or NULL if out of memory. `c` has the issuers, and may be
 * NULL. */
char *decisions_question(mcp_request *req, const mcp_intent *intent, const config *c);
/* Returns one for --doctor, about nothing. The caller frees it. */
char *decisions_probe(void);
/* Reads the outcome of a fetch. */
void decisions_read(int rc, const mcp_fetched *fetched, const mcp_error *error, decision *ret);

/* Where the policy server is: the URL, and the path of the socket or NULL. The caller frees both. */
typedef struct decisions_place {
    char *url, *socket;
} decisions_place;

/* Reads --decisions. Returns MCP_OK, or a negative code with *error set. */
int decisions_place_read(const char *text, decisions_place *ret, mcp_error *error);
void decisions_place_clear(decisions_place *place);

/* ---- asking (decisions.c) -------------------------------------------------------------------- */

/* Starts, if there is --decisions; otherwise *ret is NULL. `o` has the configuration in force. Returns MCP_OK, or a negative
 * code with *error set. */
int decisions_start(const settings *s, const offer *o, mcp_loop *loop, mcp_server *server,
                    decisions **ret, mcp_error *error);
/* Forgets all decisions, and reads the file of --decisions-auth-file again. NULL is allowed. */
void decisions_renew(decisions *d);
/* Zeros if d is NULL. */
decisions_counts decisions_count(const decisions *d);
/* Must be called after the server is freed, before the loop is freed. NULL is allowed. */
void decisions_stop(decisions *d);

/* ---- --doctor (decisions_look.c) ------------------------------------------------------------- */

void decisions_look(const settings *now);

#endif
