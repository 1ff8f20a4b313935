/* Generated hostile servers, through everything that draws: the client, the panes, the grid of cells
 * and ncurses, into a terminal. The terminal is a VT52, because its few commands can be understood
 * completely: what it shows has to be the grid of cells, so no byte of a server has moved its cursor or
 * changed its mode. The bars of the program always have the program's own text.
 */
#define _GNU_SOURCE
#include <locale.h>
#include <pthread.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#undef CTRL /* of the terminal driver */
#include "app.h"
#include "hostile_server.h"
#include "tty.h"
#include "wait.h"

enum { ROWS = 24, COLUMNS = 80, SERVERS = 5, KEYS = 120, QUIET_MS = 6 };

/* ---- the terminal ---------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    int fd; /* the other side of the terminal */
    wchar_t cells[ROWS][COLUMNS][8];
    size_t row, column, last; /* last: the column of the last character */
    char command[4];          /* what came of a command */
    size_t n_command;
    char rune[8];
    size_t n_rune;
    bool charset;     /* the other set of characters is chosen */
    char differs[96]; /* the first cell that is not that of the grid */
    char unknown[64]; /* the first byte that a VT52 does not know, or ncurses does not write */
} vt = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void blank(size_t row, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        memset(vt.cells[row][i], 0, sizeof(vt.cells[row][i]));
        vt.cells[row][i][0] = L' ';
    }
}

static void complain(const char *what, unsigned code)
{
    if (!*vt.unknown)
        snprintf(vt.unknown, sizeof(vt.unknown), "%s %02x", what, code);
}

static void show(wchar_t code)
{
    int columns = wcwidth(code);
    if (columns < 0) {
        complain("character", (unsigned)code);
    } else if (columns == 0) {
        size_t i = 0;
        while (i < 6 && vt.cells[vt.row][vt.last][i])
            i++;
        vt.cells[vt.row][vt.last][i] = code;
    } else if (vt.column + (size_t)columns > COLUMNS) {
        complain("beyond the margin", (unsigned)code);
    } else {
        blank(vt.row, vt.column, vt.column + (size_t)columns);
        vt.cells[vt.row][vt.column][0] = code;
        if (columns == 2)
            vt.cells[vt.row][vt.column + 1][0] = 0;
        vt.last = vt.column;
        vt.column += (size_t)columns; /* it stays in the last column */
        vt.column -= vt.column == COLUMNS;
    }
}

static void take_rune(unsigned char byte)
{
    vt.rune[vt.n_rune++] = (char)byte;
    size_t need = (unsigned char)vt.rune[0] < 0x80   ? 1
                  : (unsigned char)vt.rune[0] < 0xe0 ? 2
                  : (unsigned char)vt.rune[0] < 0xf0 ? 3
                                                     : 4;
    if (vt.n_rune < need)
        return;
    wchar_t code;
    mbstate_t state = {0};
    size_t n = mbrtowc(&code, vt.rune, vt.n_rune, &state);
    vt.n_rune = 0;
    if (n == need)
        show(code);
    else
        complain("not UTF-8", byte);
}

static void scroll_up(void)
{
    memmove(vt.cells[0], vt.cells[1], sizeof(vt.cells) - sizeof(vt.cells[0]));
    blank(ROWS - 1, 0, COLUMNS);
}

static void clear_below(void)
{
    blank(vt.row, vt.column, COLUMNS);
    for (size_t row = vt.row + 1; row < ROWS; row++)
        blank(row, 0, COLUMNS);
}

static void obey(void)
{
    unsigned char a = (unsigned char)vt.command[1];
    if (a == 'Y' && vt.n_command < 4)
        return;
    vt.n_command = 0;
    switch (a) {
    case 'A': vt.row -= vt.row > 0; break;
    case 'B': vt.row += vt.row + 1 < ROWS; break;
    case 'C': vt.column += vt.column + 1 < COLUMNS; break;
    case 'D': vt.column -= vt.column > 0; break;
    case 'H': vt.row = vt.column = 0; break;
    case 'J': clear_below(); break;
    case 'K': blank(vt.row, vt.column, COLUMNS); break;
    case 'F':
    case 'G': vt.charset = a == 'F'; break;
    case '=':
    case '>': break;
    case 'Y':
        vt.row = (size_t)((unsigned char)vt.command[2] - 32) % ROWS;
        vt.column = (size_t)((unsigned char)vt.command[3] - 32) % COLUMNS;
        break;
    default: complain("command", a);
    }
}

static void take_byte(unsigned char byte)
{
    if (vt.n_command) {
        vt.command[vt.n_command++] = (char)byte;
        obey();
    } else if (byte == 0x1b) {
        vt.command[vt.n_command++] = (char)byte;
    } else if (byte == '\r') {
        vt.column = 0;
    } else if (byte == '\n') {
        if (vt.row + 1 < ROWS)
            vt.row++;
        else
            scroll_up();
    } else if (byte == '\b') {
        vt.column -= vt.column > 0;
    } else if (byte == '\t') {
        vt.column = (vt.column / 8 + 1) * 8;
    } else if (byte < 0x20 || byte == 0x7f) {
        complain("control", byte);
    } else {
        take_rune(byte);
    }
}

static void *watch(void *arg)
{
    unsigned char bytes[4096];
    (void)arg;
    for (ssize_t n; (n = read(vt.fd, bytes, sizeof(bytes))) > 0;) {
        pthread_mutex_lock(&vt.lock);
        for (ssize_t i = 0; i < n; i++)
            take_byte(bytes[i]);
        pthread_mutex_unlock(&vt.lock);
    }
    return NULL;
}

static bool is_shown(const screen *s)
{
    bool same = true;
    pthread_mutex_lock(&vt.lock);
    for (size_t row = 0; same && row < ROWS; row++)
        for (size_t i = 0; same && i < COLUMNS; i++) {
            const cell *c = &s->cells[row * COLUMNS + i];
            for (size_t k = 0; same && k < CELL_CHARACTERS; k++)
                same = c->text[k] == vt.cells[row][i][k];
            if (!same)
                snprintf(vt.differs, sizeof(vt.differs),
                         "row %zu, column %zu: %lx %lx, not %lx %lx", row, i,
                         (long)vt.cells[row][i][0], (long)vt.cells[row][i][1], (long)c->text[0],
                         (long)c->text[1]);
        }
    pthread_mutex_unlock(&vt.lock);
    return same;
}

/* ---- the browser ----------------------------------------------------------------------------- */

/* No cell has a character that controls, is invisible or changes the order. */
static void check_cells(const screen *s)
{
    for (size_t i = 0; i < s->rows * s->columns; i++)
        for (size_t k = 0; k < CELL_CHARACTERS && s->cells[i].text[k]; k++) {
            wchar_t c = s->cells[i].text[k];
            bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
            bool order = (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
                         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0xad || c > 0xe0000;
            assert_false(control || order);
        }
}

/* The bar at the bottom has the keys of a confirmation only if it is one. */
static void check_bar(app *a, const screen *s)
{
    char *text = screen_text(s), *last = text;
    for (char *newline; (newline = strchr(last, '\n')) && newline[1];)
        last = newline + 1;
    const dialog *d = app_dialog(a);
    bool confirms = d && d->state == DIALOG_CONFIRM;
    assert_int_equal(strncmp(last, " y call", 7) == 0 || strncmp(last, " y send", 7) == 0,
                     confirms);
    if (d) {
        assert_int_equal(strncmp(last, dialog_hint(d), strlen(dialog_hint(d))), 0);
        assert_null(strstr(text, "\n Keys"));
    }
    free(text);
    for (size_t row = 2; row + 1 < s->rows; row++) { /* the log has one bar */
        bool is_bar = s->cells[row * s->columns].look == LOOK_BAR;
        assert_true(!is_bar || a->bottom != BOTTOM_NONE);
        assert_true(!is_bar || s->cells[row * s->columns + 1].text[0] ==
                                   (a->bottom == BOTTOM_LOG ? L'L' : L'M'));
    }
}

/* What has been on the screen, so that the keys below reach everything. */
static unsigned seen;

static void note(app *a)
{
    const dialog *d = app_dialog(a);
    seen |= 1u << (d ? d->state : DIALOG_NONE);
    seen |= d && d->question ? 0x100u : 0;
    seen |= a->mode == MODE_MARKS ? 0x200u : 0;
    seen |= a->mode == MODE_HELP ? 0x400u : 0;
    seen |= app_tab(a)->search.is_on ? 0x800u : 0;
}

static void draw(app *a, screen *s)
{
    note(a);
    assert_true(screen_resize(s, ROWS, COLUMNS));
    app_draw(a, s);
    check_cells(s);
    check_bar(a, s);
    tty_show(s);
    for (int64_t end = wait_end(); !is_shown(s);) {
        if (!wait_more(end) || *vt.unknown)
            fail_msg("not the screen: %s%s", vt.unknown, vt.differs);
        usleep(100);
    }
    assert_string_equal(vt.unknown, "");
}

/* Runs the loop until nothing has happened for a moment. */
static void settle(app *a)
{
    int64_t quiet = wait_now() + QUIET_MS;
    for (int64_t end = wait_end(); wait_now() < quiet && wait_more(end);) {
        app_tick(a, mcp_loop_now(a->loop));
        mcp_loop_step(a->loop, 2);
        if (a->is_dirty)
            quiet = wait_now() + QUIET_MS;
        a->is_dirty = false;
    }
}

static const unsigned keys[] = {
    '1',         '2',         '3',       '4',
    KEY_DOWN_,   KEY_DOWN_,   KEY_UP_,   KEY_PAGE_DOWN_,
    KEY_RETURN_, KEY_RETURN_, KEY_TAB_,  KEY_ESCAPE_,
    'y',         'y',         CTRL('s'), CTRL('s'),
    'L',         'T',         't',       ' ',
    'c',         '/',         'a',       'x',
    KEY_RIGHT_,  KEY_LEFT_,   '?',       'G',
    'g',         'n',         CTRL('x'), 'r',
    's',
};

/* Calls a tool, as a user does. */
static const unsigned call_keys[] = {KEY_ESCAPE_, KEY_ESCAPE_, KEY_ESCAPE_, '4', KEY_RETURN_,
                                     CTRL('s'),   'y',         CTRL('s'),   'y'};

static unsigned next_key(void)
{
    static size_t calling;
    if (calling)
        return call_keys[sizeof(call_keys) / sizeof(*call_keys) - calling--];
    if (dice(20) == 0)
        calling = sizeof(call_keys) / sizeof(*call_keys);
    return keys[dice(sizeof(keys) / sizeof(*keys))];
}

static void run_server(const char *seed)
{
    const char *const argv[] = {"/proc/self/exe", "server", seed, NULL};
    char label[] = "label";
    peer p = {.label = label, .argv = argv};
    app a = {.peers = &p, .n_peers = 1};
    screen s = {.utf8 = true};
    mcp_error error = {0};
    assert_int_equal(mcp_loop_new(NULL, &a.loop, &error), MCP_OK);
    assert_true(app_open(&a));
    for (int64_t end = wait_end(); p.state == PEER_STARTING && wait_more(end);)
        mcp_loop_step(a.loop, 10);
    assert_int_equal(p.state, PEER_READY);
    chance = 1000003 * strtoul(seed, NULL, 10) + 1;
    for (size_t i = 0; i < KEYS; i++) {
        app_key(&a, (key){.code = next_key()});
        draw(&a, &s);
        settle(&a);
        draw(&a, &s);
        if (app_dialog(&a) && a.mode == MODE_LISTS) { /* a question, while the help is shown */
            app_show(&a, MODE_HELP);
            draw(&a, &s);
            app_show(&a, MODE_LISTS);
        }
    }
    app_close(&a);
    mcp_loop_free(a.loop);
    screen_free(&s);
}

static void no_text_controls_the_terminal(void **state)
{
    struct winsize size = {.ws_row = ROWS, .ws_col = COLUMNS};
    int terminal, in = dup(0), out = dup(1);
    (void)state;
    assert_int_equal(openpty(&vt.fd, &terminal, NULL, NULL, &size), 0);
    for (size_t row = 0; row < ROWS; row++)
        blank(row, 0, COLUMNS);
    assert_int_equal(pthread_create(&vt.thread, NULL, watch, NULL), 0);
    fflush(stdout);
    dup2(terminal, 0), dup2(terminal, 1);
    setenv("TERM", "vt52", 1);
    assert_true(tty_open(THEME_NONE));
    for (int i = 1; i <= SERVERS; i++) {
        char seed[16];
        snprintf(seed, sizeof(seed), "%d", i);
        run_server(seed);
    }
    tty_close();
    fflush(stdout);
    dup2(in, 0), dup2(out, 1);
    close(in), close(out), close(terminal);
    pthread_join(vt.thread, NULL);
    close(vt.fd);
    assert_int_equal(seen &
                         (0xf00u | 1u << DIALOG_FORM | 1u << DIALOG_CONFIRM | 1u << DIALOG_RESULT),
                     0xf00u | 1u << DIALOG_FORM | 1u << DIALOG_CONFIRM | 1u << DIALOG_RESULT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_text_controls_the_terminal)};
    if (argc > 2 && strcmp(argv[1], "server") == 0)
        return hostile_server(argv[2]);
    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
