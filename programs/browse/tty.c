/* tty.c: the terminal, with ncursesw. It writes cells of the screen and reads keys. */
#define _GNU_SOURCE
#define NCURSES_WIDECHAR 1
#include "tty.h"

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <curses.h>

#include <mcp/json.h>

static struct {
    SCREEN *screen;
    FILE *out; /* stdout, or the terminal of the process if stdout is something else */
    bool is_open;
    attr_t looks[LOOKS];
    screen pictures; /* those that the terminal shows; it has no cells */
} term;

/* ---- looks ----------------------------------------------------------------------------------- */

/* Without colours every look that matters differs in an attribute. */
static const struct {
    attr_t plain;        /* without colours */
    attr_t with_colours; /* in addition to the colour */
    short dark, light; /* -1: the terminal's own; colours that are readable on either background */
} table[LOOKS] = {
    [LOOK_PLAIN] = {A_NORMAL, A_NORMAL, -1, -1},
    [LOOK_DIM] = {A_DIM, A_DIM, -1, -1},
    [LOOK_BOLD] = {A_BOLD, A_BOLD, -1, -1},
    [LOOK_HEADING] = {A_BOLD | A_UNDERLINE, A_BOLD, COLOR_CYAN, COLOR_BLUE},
    [LOOK_NAME] = {A_BOLD, A_NORMAL, COLOR_CYAN, COLOR_BLUE},
    [LOOK_NUMBER] = {A_NORMAL, A_NORMAL, COLOR_YELLOW, COLOR_MAGENTA},
    [LOOK_STRING] = {A_NORMAL, A_NORMAL, COLOR_GREEN, COLOR_GREEN},
    [LOOK_GOOD] = {A_NORMAL, A_NORMAL, COLOR_GREEN, COLOR_GREEN},
    [LOOK_BAD] = {A_BOLD, A_BOLD, COLOR_RED, COLOR_RED},
    [LOOK_WARN] = {A_BOLD, A_BOLD, COLOR_YELLOW, COLOR_MAGENTA},
    [LOOK_MATCH] = {A_UNDERLINE, A_BOLD, COLOR_MAGENTA, COLOR_RED},
    [LOOK_BAR] = {A_REVERSE, A_REVERSE, -1, -1},
    [LOOK_CURSOR] = {A_REVERSE, A_REVERSE | A_BOLD, -1, -1},
    [LOOK_CURSOR_AWAY] = {A_UNDERLINE, A_UNDERLINE, -1, -1},
};

/* Terminals that tell their colours set COLORFGBG to "foreground;background". */
static theme guess(void)
{
    const char *set = getenv("COLORFGBG"), *last = set ? strrchr(set, ';') : NULL;
    long background = last ? strtol(last + 1, NULL, 10) : 0;
    return background == 7 || background == 15 ? THEME_LIGHT : THEME_DARK;
}

static void choose_looks(theme t)
{
    const char *no = getenv("NO_COLOR");
    bool colours = t != THEME_NONE && !(no && *no) && has_colors() && start_color() == OK &&
                   use_default_colors() == OK;
    t = t == THEME_AUTO ? guess() : t;
    for (int i = 0; i < LOOKS; i++) {
        short colour = t == THEME_LIGHT ? table[i].light : table[i].dark;
        term.looks[i] = colours ? table[i].with_colours : table[i].plain;
        if (!colours || colour < 0)
            continue;
        init_pair((short)(i + 1), colour, -1);
        term.looks[i] |= (attr_t)COLOR_PAIR(i + 1);
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

bool tty_is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

bool tty_open(theme t)
{
    term.out = isatty(STDOUT_FILENO) ? stdout : fopen("/dev/tty", "w");
    if (!isatty(STDIN_FILENO) || !term.out) {
        say("this program needs a terminal");
        hint("'mcpctl shell' reads commands line by line, also for screen readers");
        return false;
    }
    term.screen = tty_can_move(fileno(term.out)) ? newterm(NULL, term.out, stdin) : NULL;
    if (!term.screen) {
        say("the terminal '%s' is not known, or cannot move its cursor",
            getenv("TERM") ? getenv("TERM") : "");
        hint("'mcpctl shell' works on every terminal");
        return false;
    }
    term.is_open = true;
    raw(), noecho(), nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    typeahead(-1); /* a frame is written as a whole, even if a key is waiting */
    set_escdelay(25);
    mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    mouseinterval(0);
    leaveok(stdscr, FALSE);
    choose_looks(t);
    return true;
}

/* Polling makes the terminal non-blocking, and ncurses needs that: it would wait for the next byte after an
 * event of the mouse that nobody wants. Everything else needs the usual mode. */
static void set_blocking(bool blocking)
{
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    fcntl(STDIN_FILENO, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

void tty_close(void)
{
    if (!term.is_open)
        return;
    term.is_open = false;
    endwin();
    set_blocking(true);
    delscreen(term.screen);
    if (term.out != stdout)
        fclose(term.out);
}

void tty_pause(void)
{
    endwin();
    set_blocking(true);
}

void tty_resume(void)
{
    set_blocking(false);
    tty_resized();
    tty_redraw();
}

void tty_suspend(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL}, ours;
    tty_pause();
    sigaction(SIGTSTP, &standard, &ours);
    kill(0, SIGTSTP); /* continues here after SIGCONT */
    sigaction(SIGTSTP, &ours, NULL);
    tty_resume();
}

/* ---- output ---------------------------------------------------------------------------------- */

void tty_size(size_t *rows, size_t *columns)
{
    *rows = (size_t)getmaxy(stdscr);
    *columns = (size_t)getmaxx(stdscr);
}

picture_cell tty_cell(void)
{
    struct winsize size;
    picture_cell none = {0};
    if (ioctl(fileno(term.out), TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
        return none;
    return (picture_cell){size.ws_xpixel / size.ws_col, size.ws_ypixel / size.ws_row};
}

void tty_resized(void)
{
    struct winsize size;
    term.pictures.n_pictures = 0;
    if (ioctl(fileno(term.out), TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
}

void tty_redraw(void)
{
    term.pictures.n_pictures = 0;
    clearok(curscr, TRUE);
}

static void show_cell(int row, int column, const cell *c)
{
    wchar_t text[CELL_CHARACTERS + 1] = {0};
    cchar_t shown;
    attr_t attributes = term.looks[c->look];
    memcpy(text, c->text, sizeof(c->text));
    setcchar(&shown, text, attributes & ~(attr_t)A_COLOR, (short)PAIR_NUMBER(attributes), NULL);
    mvadd_wch(row, column, &shown);
}

/* ncurses does not know of pictures: their rows are written again as a whole. */
static void remove_pictures(void)
{
    for (size_t i = 0; i < term.pictures.n_pictures; i++)
        wredrawln(stdscr, (int)term.pictures.pictures[i].row, (int)term.pictures.pictures[i].rows);
    if (term.pictures.n_pictures)
        picture_remove(term.out);
}

static void show_pictures(const screen *s)
{
    static const picture_cell usual = {10, 20};
    set_blocking(true);
    picture_cell one = s->cell_size.width && s->cell_size.height ? s->cell_size : usual;
    for (size_t i = 0; i < s->n_pictures; i++) {
        const screen_picture *p = &s->pictures[i];
        picture_put(term.out, p->picture, one, p->row, p->column, p->rows, p->columns);
    }
    fflush(term.out);
    set_blocking(false);
    memcpy(term.pictures.pictures, s->pictures, sizeof(s->pictures));
    term.pictures.n_pictures = s->n_pictures;
}

void tty_show(const screen *s)
{
    bool same = screen_equal_pictures(s, &term.pictures);
    if (!same)
        remove_pictures();
    for (size_t row = 0; row < s->rows; row++)
        for (size_t i = 0; i < s->columns; i++)
            if (s->cells[row * s->columns + i].columns)
                show_cell((int)row, (int)i, &s->cells[row * s->columns + i]);
    curs_set(s->has_cursor ? 1 : 0);
    if (s->has_cursor)
        move((int)s->cursor_row, (int)s->cursor_column);
    refresh();
    if (!same)
        show_pictures(s);
}

void tty_copy(const char *text)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str base64; /* in quotes */
    mcp_json_add_base64(w, text, strlen(text));
    set_blocking(true);
    if (mcp_json_writer_finish(w, &base64) == MCP_OK && base64.len > 2)
        fprintf(term.out, "\033]52;c;%.*s\a", (int)base64.len - 2, base64.ptr + 1);
    fflush(term.out);
    set_blocking(false);
    mcp_json_writer_free(w);
}

/* ---- input ----------------------------------------------------------------------------------- */

static const struct {
    wint_t from;
    unsigned to;
} keys[] = {
    {KEY_UP, KEY_UP_},        {KEY_DOWN, KEY_DOWN_},     {KEY_LEFT, KEY_LEFT_},
    {KEY_RIGHT, KEY_RIGHT_},  {KEY_PPAGE, KEY_PAGE_UP_}, {KEY_NPAGE, KEY_PAGE_DOWN_},
    {KEY_HOME, KEY_HOME_},    {KEY_END, KEY_END_},       {KEY_BACKSPACE, KEY_BACKSPACE_},
    {KEY_DC, KEY_DELETE_},    {KEY_BTAB, KEY_BACK_TAB_}, {KEY_F(1), KEY_F1_},
    {KEY_ENTER, KEY_RETURN_},
};

static bool mouse_key(key *ret)
{
    MEVENT event;
    if (getmouse(&event) != OK)
        return false;
    ret->row = (size_t)event.y;
    ret->column = (size_t)event.x;
    ret->code = event.bstate & BUTTON4_PRESSED   ? (unsigned)KEY_WHEEL_UP_
                : event.bstate & BUTTON5_PRESSED ? (unsigned)KEY_WHEEL_DOWN_
                                                 : (unsigned)KEY_CLICK_;
    return true;
}

bool tty_key(key *ret)
{
    wint_t code;
    int kind = get_wch(&code);
    *ret = (key){0};
    if (kind == ERR)
        return false;
    if (kind == KEY_CODE_YES && code == KEY_MOUSE)
        return mouse_key(ret);
    for (size_t i = 0; kind == KEY_CODE_YES && i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i].from == code)
            ret->code = keys[i].to;
    if (kind == OK)
        ret->code = code == 127 || code == 8 ? (unsigned)KEY_BACKSPACE_ : (unsigned)code;
    return true;
}
