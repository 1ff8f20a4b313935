/* dialog.h: what takes the place of the lists: the form of a tool, a prompt, a template or a question,
 * the confirmation of a call, the call, and its result.
 *
 * A call is confirmed for one definition of a tool. After the confirmation the page of the list that
 * has the tool is requested again. If the definition there is another one, nothing is called: the
 * new definition is shown, and the call has to be confirmed again.
 */
#ifndef BROWSE_DIALOG_H
#define BROWSE_DIALOG_H

#include "content.h"
#include "form.h"
#include "peer.h"
#include "proposals.h"
#include "sample.h"

typedef enum dialog_state {
    DIALOG_NONE,
    DIALOG_FORM,
    DIALOG_CONFIRM,
    DIALOG_CHECKING, /* whether the definition is still the same */
    DIALOG_RUNNING,  /* the call, or the command that answers */
    DIALOG_RESULT,
} dialog_state;

typedef struct dialog {
    dialog_state state;
    peer *peer;
    list_kind kind;
    char *key;   /* the tool, prompt or template; NULL for a question */
    size_t page; /* of the list, which has the definition */
    mcp_json_doc *definition;
    char *definition_text;
    mcp_question *question;
    form form;
    proposals proposals; /* for the field with the cursor, of a prompt or a template */
    char *arguments;     /* the JSON that is sent */
    const char *command; /* that answers requests for sampling, or NULL; kept by dialog_close() */
    char *request;       /* one that was changed, as JSON; NULL: as the server sent it */
    char *draft;         /* the changed text of it that is not JSON, or NULL */
    char *written;       /* the answer to it, of which `arguments` are made */
    const char *model;   /* that has written it */
    bool wants_editor;   /* for the request, or for the answer that has to be confirmed */
    sampler *sampler;    /* it is running; NULL if not */
    char note[200];      /* shown above: why it has to be confirmed again, or the progress */
    lines lines; /* what has to be confirmed, the result, a request for sampling, a message */
    size_t top;
    size_t first; /* the line that is on top when they are drawn next; 0: `top` says it */
    bool tries;   /* the call is one with dry_run */
    mcp_call_id call;
    unsigned leaving; /* calls that were cancelled, whose end is still to come; kept as well */
} dialog;

/* Opens the form of an entry. */
void dialog_open(dialog *d, peer *p, list_kind kind, const item *i, size_t page);
/* Opens a question of a server. The dialog answers it in any case. */
void dialog_ask(dialog *d, peer *p, mcp_question *q);
void dialog_close(dialog *d);
void dialog_key(dialog *d, key k);
/* Shows another state, and what has to be confirmed. */
void dialog_set_state(dialog *d, dialog_state state);
void dialog_confirm(dialog *d);
/* Scrolls the lines. */
void dialog_move(dialog *d, key k);

/* Returns whether it is a question of this kind. */
static inline bool dialog_asks(const dialog *d, mcp_question_kind kind)
{
    return d->question && mcp_question_kind_of(d->question) == kind;
}

/* dialog_sample.c */
void dialog_put_request(dialog *d);
void dialog_sample_key(dialog *d, key k);
/* Runs the editor that is wanted. The terminal must be in its usual mode. */
void dialog_revise(dialog *d);

/* dialog_draw.c */
/* Makes the lines of the message of a question, unless it fits into the head. */
void dialog_put_message(dialog *d);
/* Returns whether the call that is to be confirmed can be tried. */
bool dialog_can_try(const dialog *d);
/* Makes the lines that have to be confirmed. */
void dialog_put_confirmation(dialog *d);
/* Adds what the call would change, as its result with dry_run says. */
void dialog_put_change(dialog *d, const mcp_json *result);
void dialog_draw(dialog *d, screen *s, area where);
/* The keys that are possible now, for the bar at the bottom. */
const char *dialog_hint(const dialog *d);

#endif
