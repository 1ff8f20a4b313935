/* gate.h: who may use the page's endpoints: a code that is exchanged once for a secret.
 *
 * Every user and every page on this machine can reach the port. The code is known only to those who
 * can read the file that opens the browser (redirect.h), and the secret only to the page that
 * exchanged it.
 */
#ifndef WEB_GATE_H
#define WEB_GATE_H

#include <mcp/base.h>

enum { GATE_DIGITS = 64, GATE_CODE_MS = 60000 };

typedef struct gate {
    char name[16];                /* "127.0.0.1" */
    char host[64];                /* that and ":PORT" */
    char origin[80];              /* "http://" and that */
    char code[GATE_DIGITS + 1];   /* empty before the first one */
    char secret[GATE_DIGITS + 1]; /* empty while no page has one */
    int64_t made;                 /* the time of the code, in milliseconds */
    bool is_used;                 /* the code was exchanged */
} gate;

typedef enum gate_answer {
    GATE_FINE,
    GATE_WRONG, /* it is not the code, or a newer one has replaced it */
    GATE_USED,  /* it was exchanged before, perhaps by another program */
    GATE_LATE,  /* it is older than GATE_CODE_MS */
} gate_answer;

/* Chooses the address for the page: with `own_origin` a random one of 127.0.0.0/8, which is another
 * one each time, otherwise 127.0.0.1. With a random one, the page has an origin of its own: whatever
 * another program at the same port has left in the browser, such as a service worker, belongs to
 * another origin. A name below localhost would do the same, but would have to be resolved, and another
 * user could wait for the browser at the same port of ::1. Returns false if there is no randomness. */
bool gate_choose_address(gate *g, bool own_origin);
/* Sets the address at which the page is served, with its port. */
void gate_set_address(gate *g, const char *address);
/* Makes a code, which replaces the one before. Returns false if there is no randomness. */
bool gate_renew(gate *g, int64_t now);
/* Exchanges a code: with GATE_FINE, g->secret is new, and the one before is no longer valid. */
gate_answer gate_exchange(gate *g, mcp_str code, int64_t now);
/* Returns whether a header Authorization has the secret. */
bool gate_admits(const gate *g, mcp_str authorization);

/* Where a request came from: headers, which are empty if they are missing. */
typedef struct gate_source {
    mcp_str host, origin;
    mcp_str site; /* Sec-Fetch-Site */
} gate_source;

/* Returns whether a request was sent to this host, and not by a page of another origin. A request
 * without Origin and Sec-Fetch-Site is not from a browser of today. */
bool gate_is_own(const gate *g, const gate_source *from);
/* Returns whether a request for a file of the page was sent to this host. */
bool gate_is_host(const gate *g, mcp_str host);

#endif
