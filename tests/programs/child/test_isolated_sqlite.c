/* test_isolated_sqlite.c: rows of a database that another process writes. An answer is never older
 * than the last commit that had returned before its request.
 *
 * SQLite runs in that other process only. It also reads the row after each request, as the model with
 * which the answer is compared.
 */
#define _GNU_SOURCE
#include "dice.h"
#include "isolated_fixture.h"
#include "rounds.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <sqlite3.h>

enum { ROWS = 4, LINE = 300 };

static char folder[] = "/tmp/test_isolated_sqlite_XXXXXX", path[100], name[20];

static void path_of(char to[120], const char *suffix)
{
    snprintf(to, 120, "%s%s", path, suffix);
}

/* ---- in the process that writes -------------------------------------------------------------- */

static sqlite3 *db;

static void open_db(void)
{
    if (db)
        return;
    if (sqlite3_open(path, &db) != SQLITE_OK)
        _exit(3);
    sqlite3_busy_timeout(db, 10000);
}

static void close_db(void)
{
    sqlite3_close(db);
    db = NULL;
}

static void run_sql(const char *sql)
{
    char *why = NULL;
    open_db();
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
        fprintf(stderr, "# %s: %s\n", sql, why);
        _exit(3);
    }
}

static void unlink_beside(void)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    char beside[120];
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        path_of(beside, suffixes[i]);
        unlink(beside);
    }
}

/* Runs a statement that needs the database for itself. It fails if readers have it open. */
static void try_sql(const char *sql)
{
    open_db();
    sqlite3_busy_timeout(db, 20);
    sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_busy_timeout(db, 10000);
}

/* Fills a new database, which takes the place of the old one. */
static void replace_db(const char *value)
{
    char other[120], sql[5 * LINE], keep[100];
    close_db();
    path_of(other, ".new");
    strcpy(keep, path);
    strcpy(path, other);
    snprintf(sql, sizeof(sql),
             "CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT, big BLOB); "
             "INSERT INTO t VALUES (0, '%s', zeroblob(3000)), (1, '%s', zeroblob(3000)), "
             "(2, '%s', zeroblob(3000)), (3, '%s', zeroblob(3000))",
             value, value, value, value);
    run_sql(sql);
    close_db();
    strcpy(path, keep);
    unlink_beside();
    if (rename(other, path) != 0)
        _exit(3);
}

/* A process that ends in the middle, and leaves a -wal with a commit, or a hot journal. */
static void crash(const char *sql)
{
    close_db();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        run_sql(sql);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

/* Reads the row as any program would. */
static void read_row(const char *key, char to[LINE])
{
    sqlite3 *own = NULL;
    sqlite3_stmt *stmt = NULL;
    sqlite3_open(path, &own);
    sqlite3_busy_timeout(own, 10000);
    snprintf(to, LINE, "none");
    if (sqlite3_prepare_v2(own, "SELECT v FROM t WHERE k = ?", -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
        if (sqlite3_step(stmt) == SQLITE_ROW)
            snprintf(to, LINE, "%s", (const char *)sqlite3_column_text(stmt, 0));
    }
    sqlite3_finalize(stmt);
    sqlite3_close(own);
}

/* Executes a command, and writes the answer to `to`. */
static void execute(const char *command, char to[LINE])
{
    char beside[120];
    const char *rest = command + 1;
    snprintf(to, LINE, "done");
    switch (*command) {
    case 's': run_sql(rest); break;
    case 'S': try_sql(rest); break;
    case 'r': read_row(rest, to); break;
    case 'p': replace_db(rest); break;
    case 'c': close_db(); break;
    case 'x': crash(rest); break;
    case 'w': /* the -wal of a process that crashed is removed */
        close_db();
        path_of(beside, "-wal");
        unlink(beside);
        path_of(beside, "-shm");
        unlink(beside);
        break;
    case 't':
        close_db();
        if (truncate(path, 0) != 0)
            _exit(3);
        unlink_beside();
        break;
    default: _exit(3);
    }
}

/* Each message is a command or an answer. */
static void serve(int fd)
{
    char command[LINE], to[LINE];
    ssize_t n;
    while ((n = recv(fd, command, sizeof(command) - 1, 0)) > 0) {
        command[n] = 0;
        execute(command, to);
        if (send(fd, to, strlen(to), MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

/* ---- the other process ----------------------------------------------------------------------- */

static int to_writer = -1;
static pid_t writer;

static void start_writer(void)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    fflush(NULL);
    writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        close(pair[0]);
        serve(pair[1]);
    }
    close(pair[1]);
    to_writer = pair[0];
}

static void stop_writer(void)
{
    close(to_writer);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
}

static MCP_PRINTF(2, 3) void tell(char answer[LINE], const char *format, ...)
{
    char command[LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    assert_int_equal(send(to_writer, command, strlen(command), MSG_NOSIGNAL), strlen(command));
    ssize_t n = recv(to_writer, answer, LINE - 1, 0);
    if (n <= 0)
        fail_msg("the other process failed at: %s", command);
    answer[n] = 0;
}

/* ---- the server ------------------------------------------------------------------------------ */

static void open_server(fixture *f, const char *given)
{
    static const char *const argv[] = {MCPD, "--source-child", NULL};
    static const char *const beside[] = {"-wal", "-shm", "-journal", NULL};
    char line[1000];
    const char *const paths[] = {given, NULL};
    mcp_error error = {0};
    *f = (fixture){.rules = false};
    assert_int_equal(mcp_loop_new(NULL, &f->loop, NULL), MCP_OK);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .host = mcp_loop_host(f->loop)),
                                    &f->server, NULL),
                     MCP_OK);
    snprintf(line, sizeof(line),
             "{\"module\":\"sqlite\"" SQLITE_FILE ",\"source\":\"%s\",\"name\":\"%s\",\"read\":"
             "[\"%s\"],\"beside\":[\"-wal\",\"-shm\",\"-journal\"],\"report\":true,"
             "\"access\":false}",
             given, name, given);
    if (mcp_isolated_mount(f->server,
                           MCP_OPTIONS(mcp_isolated_options, .name = "sqlite:t", .argv = argv,
                                       .line = line, .paths = paths, .beside = beside,
                                       .group = &f->group),
                           &error) != MCP_OK)
        fail_msg("%s", error.text);
    connect_as(f, NULL);
}

static int next_id;

static const char *ask_row(fixture *f, const char *what, unsigned row)
{
    char uri[100];
    snprintf(uri, sizeof(uri), "sqlite://%s/t/%s/%u", name, what, row);
    next_id = (next_id + 1) % IDS;
    f->answers[next_id] = 0;
    return ask_uri(f, next_id, uri);
}

/* ---- a generated history --------------------------------------------------------------------- */

/* Changes the database in one of the ways in which programs do. */
static void change(unsigned n)
{
    static const char *const modes[] = {"WAL", "DELETE", "TRUNCATE", "PERSIST", "MEMORY", "OFF"};
    char answer[LINE];
    unsigned row = dice(ROWS);
    switch (dice(20)) {
    case 0: tell(answer, "p%06u", n); break;
    case 1: tell(answer, "SPRAGMA journal_mode=%s", modes[dice(6)]); break;
    case 2: tell(answer, "SPRAGMA journal_mode=DELETE"); break;
    case 3: tell(answer, "SVACUUM"); break;
    case 4: tell(answer, "SPRAGMA wal_checkpoint(%s)", dice(2) ? "PASSIVE" : "TRUNCATE"); break;
    case 5: tell(answer, "c"); break;
    case 6: tell(answer, "sDELETE FROM t WHERE k = %u", row); break;
    case 7: tell(answer, "sINSERT OR REPLACE INTO t VALUES (%u, '%06u', NULL)", row, n); break;
    case 8: tell(answer, "sBEGIN; UPDATE t SET v = '%06u'; ROLLBACK", n); break;
    case 9:
        tell(answer, "t");
        tell(answer, "p%06u", n);
        break;
    case 10:
        tell(answer, "xPRAGMA journal_mode=WAL; UPDATE t SET v = '%06u'", n);
        if (dice(2))
            tell(answer, "w");
        break;
    case 11:
        tell(answer,
             "xPRAGMA busy_timeout=20; PRAGMA journal_mode=DELETE; PRAGMA cache_size=1; BEGIN; "
             "UPDATE t SET v = '%06u', "
             "big = randomblob(20000)",
             n);
        break;
    case 12:
        tell(answer, "sPRAGMA cache_size=1");
        tell(answer, "sUPDATE t SET v = '%06u', big = randomblob(20000)", n);
        break;
    case 13:
        tell(answer, "c");
        tell(answer, "sUPDATE t SET v = '%06u'", n);
        tell(answer, "c");
        break;
    default: tell(answer, "sUPDATE t SET v = '%06u' WHERE k = %u", n, row); break;
    }
}

/* Compares an answer with what a program reads afterwards. If the last process that wrote has
 * crashed, the source may need another process that repairs it, and answers with an error. */
static bool is_equal(const char *text, const char *value)
{
    char part[LINE];
    if (strcmp(value, "none") == 0)
        return strstr(text, "\"error\"") != NULL;
    snprintf(part, sizeof(part), "%s", value);
    return strstr(text, part) != NULL;
}

static void test_history(void **state)
{
    enum { STEPS = 4000 };
    fixture f;
    char value[LINE], key[4];
    unsigned errors = 0;
    (void)state;
    start_writer();
    tell(value, "p000000");
    open_server(&f, path);
    for (unsigned i = 0; i < rounds(STEPS); i++) {
        unsigned row = dice(ROWS) * dice(2); /* the first one more often */
        const char *what = dice(4) ? "row" : "cell/v";
        if (dice(100) < 6)
            change(i);
        const char *text = ask_row(&f, what, row);
        snprintf(key, sizeof(key), "%u", row);
        tell(value, "r%s", key);
        if (strstr(text, "\"code\":-32603") && strcmp(value, "none") != 0)
            errors++; /* a hot journal, until it was read above */
        else if (!is_equal(text, value))
            fail_msg("step %u, %s %u: %s instead of %s", i, what, row, text, value);
    }
    assert_in_range(errors, 1, rounds(STEPS) / 20);
    close_fixture(&f);
    stop_writer();
}

/* ---- commits during requests ----------------------------------------------------------------- */

/* In memory that both processes share. */
typedef struct progress {
    atomic_uint began, committed;
    atomic_bool stop;
} progress;

/* Commits numbers with pauses of different lengths. */
static void count_up(progress *p, const char *mode, const char *synchronous)
{
    char sql[LINE];
    snprintf(sql, sizeof(sql), "PRAGMA journal_mode=%s; PRAGMA synchronous=%s", mode, synchronous);
    run_sql(sql);
    for (unsigned n = 1; !atomic_load(&p->stop); n++) {
        struct timespec pause = {.tv_nsec = 1000000 * (long)(dice(2) ? dice(5) : dice(120))};
        atomic_store(&p->began, n);
        snprintf(sql, sizeof(sql), "UPDATE t SET v = '%06u' WHERE k = 0", n);
        run_sql(sql);
        atomic_store(&p->committed, n);
        nanosleep(&pause, NULL);
        if (dice(20) == 0)
            close_db();
    }
    close_db();
    _exit(0);
}

static unsigned number_in(const char *text)
{
    const char *at = strstr(text, "\\\"v\\\":\\\"");
    if (!at)
        fail_msg("%s", text);
    return at ? (unsigned)strtoul(at + strlen("\\\"v\\\":\\\""), NULL, 10) : 0;
}

static void check_commits(const char *mode, const char *synchronous)
{
    enum { MS = 1500, MOST_ERRORS = 100 };
    fixture f;
    char answer[LINE];
    unsigned last = 0, changes = 0, errors = 0;
    progress *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    start_writer();
    tell(answer, "p000000");
    stop_writer();
    open_server(&f, path);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        count_up(p, mode, synchronous);
    int64_t end = mcp_loop_now(f.loop) + MS;
    while (mcp_loop_now(f.loop) < end || changes < 10) {
        unsigned least = atomic_load(&p->committed);
        const char *text = ask_row(&f, "row", 0);
        /* The process may have entered its sandbox just before the writer created a file, which it
         * cannot open then. The next request gets another process. */
        if (strstr(text, "unable to open") && ++errors < MOST_ERRORS)
            continue;
        unsigned number = number_in(text);
        if (number < least || number < last || number > atomic_load(&p->began))
            fail_msg("%s: %u, but %u was committed and %u read before", mode, number, least, last);
        changes += number != last;
        last = number;
    }
    atomic_store(&p->stop, true);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close_fixture(&f);
    munmap(p, sizeof(*p));
}

static void test_commits(void **state)
{
    (void)state;
    check_commits("DELETE", "FULL");
    check_commits("PERSIST", "OFF");
    check_commits("MEMORY", "OFF");
    check_commits("WAL", "FULL");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_commits),
    };
    char command[100];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/t.db", folder);
    strcpy(name, "t");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command) != 0 || failed;
}
