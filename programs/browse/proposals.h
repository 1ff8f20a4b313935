/* proposals.h: what the server proposes for the field of a form that is being typed: an argument of a
 * prompt, or a variable of a template.
 */
#ifndef BROWSE_PROPOSALS_H
#define BROWSE_PROPOSALS_H

#include "form.h"
#include "peer.h"

enum { MOST_PROPOSALS = 100, LONGEST_PROPOSAL = 1000 };

typedef struct proposals {
    peer *peer;
    form *form;
    const char *prompt, *uri_template; /* one of them; the other is NULL */
    mcp_call_id call;                  /* 0 if none is pending */
    bool again;                        /* the text has changed since the request */
    bool wants;                        /* Tab was pressed before the answer */
    char *values[MOST_PROPOSALS];
    size_t count;
    size_t total; /* that the server has, as it says; 0 if unknown */
    size_t taken; /* by Tab, or SIZE_MAX */
} proposals;

/* Begins to ask for the field with the cursor, if the server offers completion. The peer, the form and
 * the name, `prompt` or `uri_template`, must outlive it. */
void proposals_begin(proposals *s, peer *p, form *f, const char *prompt, const char *uri_template);
void proposals_end(proposals *s);
/* The text or the field is another one. */
void proposals_ask(proposals *s);
/* Puts the next proposal, or the one before, into the field. If the answer is still pending, does so
 * when it arrives. Returns false if there is none. */
bool proposals_take(proposals *s, bool next);
void proposals_draw(const proposals *s, screen *to, area where);

#endif
