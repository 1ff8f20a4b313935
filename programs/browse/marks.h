/* marks.h: resources that the user has marked. Their texts are a context for a language model, within a
 * budget. Marks of several servers are one context.
 */
#ifndef BROWSE_MARKS_H
#define BROWSE_MARKS_H

#include <common/selection.h>

#include "edit.h"
#include "peer.h"

enum { MOST_MARKS = 500 };

typedef struct mark {
    peer *peer;
    char *packed; /* the packed entry */
    char *text;   /* NULL until it was read */
    size_t len;
    selected_outcome outcome; /* FATE_NOT_LOOKED_AT until it was read */
} mark;

typedef struct marks {
    mark items[MOST_MARKS];
    size_t count;
    size_t bytes;     /* of all texts */
    selection chosen; /* in the order of the context; `place` is the index of the mark */
    edit query;       /* what the order depends on, besides the priorities */
    bool is_stale;    /* marks_arrange() has something to do */
    size_t reading;   /* the mark whose text is requested */
    mcp_call_id call; /* 0 if none is */
    unsigned leaving; /* requests that were cancelled, whose end is still to come */
} marks;

bool marks_has(const marks *m, const peer *p, mcp_str uri);
/* Marks an entry, or removes its mark. Returns false if there are too many or no memory. */
bool marks_toggle(marks *m, peer *p, const item *i);
void marks_remove(marks *m, size_t at);
/* The resource has changed: its text is read again. */
void marks_forget(marks *m, const peer *p, mcp_str uri);
/* Requests the next text that is missing. */
void marks_read(marks *m);
/* Orders the marks, and decides what fits into the budget. */
void marks_arrange(marks *m);
/* Returns the context, which the caller frees; NULL if nothing is included. */
char *marks_text(marks *m);
void marks_clear(marks *m);

#endif
