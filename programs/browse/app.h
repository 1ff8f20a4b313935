/* app.h: the browser: what is shown and what has the focus. It knows no terminal: app_key() gets the
 * keys and app_draw() draws a screen, so that tests can do both.
 */
#ifndef BROWSE_APP_H
#define BROWSE_APP_H

#include "content.h"
#include "dialog.h"
#include "edit.h"
#include "tail.h"
#include "keys.h"
#include "lines.h"
#include "marks.h"
#include "peer.h"
#include "search.h"
#include "tree.h"

typedef enum focus { FOCUS_LIST, FOCUS_PREVIEW } focus;

/* What is shown, and gets the keys, while no dialog is open; app_show() changes it. */
typedef enum mode {
    MODE_LISTS, /* the list and the preview, or the lists of the servers side by side */
    MODE_QUERY, /* the same, while the query of a search is typed */
    MODE_MARKS, /* the context */
    MODE_HELP,  /* the keys; then the mode before it again */
} mode;

/* The pane at the bottom. */
typedef enum bottom { BOTTOM_NONE, BOTTOM_LOG, BOTTOM_TRACE } bottom;

/* Where a pane is scrolled to. */
typedef struct scroll {
    size_t top, at; /* the first row shown, and the row of the cursor */
} scroll;

/* What one tab of one server shows. */
typedef struct tab {
    scroll list;
    bool to_end; /* the cursor stays at the end while the list is read */
    search_state search;
    tree tree;
    size_t missing; /* an entry of the tree on the screen that is not in memory, or TREE_NONE */
    edit query;
} tab;

/* The contents of the selected entry. */
typedef struct preview {
    char *key; /* of the entry; NULL for none */
    peer *peer;
    list_kind kind;
    lines lines;
    scroll scroll;
    mcp_call_id call; /* the pending read; 0 if there is none */
    int64_t due;      /* when it is requested; 0 if it was */
    uint64_t updates; /* of the peer, when the contents were requested */
    unsigned leaving; /* reads that were cancelled, whose end is still to come */
    bool is_again;    /* the contents are read again because they have changed */
} preview;

/* What the pane of the context shows. */
typedef struct collecting {
    scroll list;
    enum { COLLECT_NOTHING, COLLECT_QUERY, COLLECT_PATH } typing;
    edit path; /* of the file to write */
} collecting;

typedef struct app {
    mcp_loop *loop;
    peer *peers;
    size_t n_peers, peer;
    list_kind kind;
    tab (*tabs)[LISTS]; /* of each peer */
    focus focus;
    mode mode, before_help;
    bottom bottom;
    preview preview;
    char message[200]; /* in the bar at the bottom, until the next key */
    bool is_dirty;     /* the screen may have to change */
    bool wants_end, wants_suspend, wants_redraw;
    bool wants_login;      /* a person logs in at the server, then it is opened again */
    bool wants_open;       /* the server is opened again */
    dialog dialog, asking; /* a question is shown instead of the dialog, whose call may need it */
    struct {
        peer *peer;
        mcp_question *question;
    } questions[16]; /* that wait until the one before was answered */
    size_t n_questions;
    tail log, trace;
    marks marks;
    collecting collect;
    bool prints;    /* the context is printed at the end */
    char *copy;     /* goes to the terminal's clipboard with the next frame; NULL for nothing */
    bool is_beside; /* the lists of the servers are shown side by side */
    size_t tab_ends[LISTS]; /* the columns behind the names of the lists */
    scroll help;
    size_t list_rows, preview_rows; /* heights of the panes, as drawn last */
    area list_area, preview_area;
} app;

/* Opens the servers. The caller has set `loop`, `peers` and `n_peers`. */
bool app_open(app *a);
void app_close(app *a);
/* Opens the chosen server again. Must not be called from a callback. */
void app_reopen(app *a);
void app_key(app *a, key k);
void app_show(app *a, mode m);
/* Opens the next question of a server, if none is open. */
void app_ask(app *a);
/* app_draw.c: draws everything; the size of the screen is set. */
void app_draw(app *a, screen *s);
/* Does what is due at a time, and returns how many milliseconds later to call it again. */
uint64_t app_tick(app *a, int64_t now);

/* beside.c: the current list of several servers side by side, in place of list and preview. */
void beside_draw(app *a, screen *s, area where);

/* Returns the dialog that gets the keys, or NULL. */
static inline dialog *app_dialog(app *a)
{
    return a->asking.state != DIALOG_NONE   ? &a->asking
           : a->dialog.state != DIALOG_NONE ? &a->dialog
                                            : NULL;
}

static inline peer *app_peer(const app *a)
{
    return &a->peers[a->peer];
}

static inline tab *app_tab(const app *a)
{
    return &a->tabs[a->peer][a->kind];
}

static inline pages *app_pages(const app *a)
{
    return &app_peer(a)->lists[a->kind].pages;
}

/* marks_pane.c: in place of the lists */
void marks_key(app *a, key k);
void marks_draw(app *a, screen *s, area where);
void marks_draw_bottom(app *a, pen *p);

/* list_pane.c */
/* Writes a size in at most 5 columns. */
void format_size(int64_t size, char to[16]);
/* Moves the window so that it contains the cursor. */
void scroll_follow(scroll *c, size_t rows, size_t height);
/* Marks the selected entry, or removes its mark, and selects the next one. */
void list_mark(app *a);
/* Returns the number of rows; the last one may stand for entries that were not read yet. */
size_t list_rows(app *a);
void list_draw(app *a, screen *s, area where);
/* Gets the selected entry. Returns false if there is none. */
bool list_selected(app *a, item *ret);
/* Returns where the selected entry is in the server's list. */
size_t list_place(const app *a);
void list_move(app *a, long by);
void list_go(app *a, size_t row);
/* Continues a search, or the tree, for a few milliseconds. Returns whether there is more to do at
 * once. */
bool list_work(app *a);
/* Changes between list and tree. */
void list_toggle_tree(app *a);
/* Opens or closes the selected folder. Returns false if no folder is selected. */
bool list_toggle_folder(app *a);
/* Closes it or, if it is not open or not a folder, selects the folder that contains it. Returns false
 * if there is none. */
bool list_close_folder(app *a);
/* The query has changed; `before` is what it was. */
void list_query(app *a, mcp_str before);
void list_end_search(app *a);

/* preview_pane.c */
void preview_draw(app *a, screen *s, area where);
/* The selection may have changed. */
void preview_follow(app *a);
void preview_clear(app *a);
void preview_request(app *a);
void preview_move(app *a, long by);

#endif
