/* test_oauth_store.c: the file of login records: its contents, what it refuses, its locks, and the
 * failure of every allocation and every system call. The linker redirects the system calls of the
 * store to this file (--wrap). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/oauth_store/store.h"
#include "support/failalloc.h"
#include "support/wait.h"

#define RECORD "{\"refresh_token\":\"r1\",\"number\":1.50}"

static char folder[64];
static char path[128];

/* ---- system calls that fail ------------------------------------------------------------------ */

/* The calls since the start, and the one that fails, from 1; 0 means none. */
static struct {
    size_t calls, fail_at;
    int with;
    size_t room; /* bytes that can still be written, if `full` */
    bool full;
} sys;

static bool fails(void)
{
    if (++sys.calls != sys.fail_at)
        return false;
    errno = sys.with;
    return true;
}

int __real_open(const char *name, int flags, ...);
int __real_openat(int at, const char *name, int flags, ...);
ssize_t __real_read(int fd, void *to, size_t len);
ssize_t __real_write(int fd, const void *from, size_t len);
int __real_fsync(int fd);
int __real_fstat(int fd, struct stat *to);
int __real_renameat(int from_at, const char *from, int to_at, const char *to);

int __wrap_open(const char *name, int flags, ...);
int __wrap_openat(int at, const char *name, int flags, ...);
ssize_t __wrap_read(int fd, void *to, size_t len);
ssize_t __wrap_write(int fd, const void *from, size_t len);
int __wrap_fsync(int fd);
int __wrap_fstat(int fd, struct stat *to);
int __wrap_renameat(int from_at, const char *from, int to_at, const char *to);

int __wrap_open(const char *name, int flags, ...)
{
    return fails() ? -1 : __real_open(name, flags, 0600);
}

int __wrap_openat(int at, const char *name, int flags, ...)
{
    return fails() ? -1 : __real_openat(at, name, flags, 0600);
}

ssize_t __wrap_read(int fd, void *to, size_t len)
{
    return fails() ? -1 : __real_read(fd, to, len);
}

ssize_t __wrap_write(int fd, const void *from, size_t len)
{
    if (fails())
        return -1;
    if (!sys.full)
        return __real_write(fd, from, len > 7 ? 7 : len); /* in pieces */
    if (!sys.room) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t n = __real_write(fd, from, len < sys.room ? len : sys.room);
    sys.room -= n > 0 ? (size_t)n : 0;
    return n;
}

int __wrap_fsync(int fd)
{
    return fails() ? -1 : __real_fsync(fd);
}

int __wrap_fstat(int fd, struct stat *to)
{
    return fails() ? -1 : __real_fstat(fd, to);
}

int __wrap_renameat(int from_at, const char *from, int to_at, const char *to)
{
    return fails() ? -1 : __real_renameat(from_at, from, to_at, to);
}

/* ---- a folder for each test ------------------------------------------------------------------ */

static int make(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/oauth-store-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/state/mcp/auth.json", folder);
    memset(&sys, 0, sizeof(sys));
    return 0;
}

static int clean(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static const char *in_folder(const char *name)
{
    static char at[256];
    snprintf(at, sizeof(at), "%s/state/mcp/%s", folder, name);
    return at;
}

static void put_file(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static const char *get_file(void)
{
    static char text[4096];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
    return text;
}

static size_t count_files(void)
{
    DIR *d = opendir(in_folder("."));
    size_t n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n >= 2 ? n - 2 : 0;
}

static int open_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    return n;
}

/* ---- shorthand ------------------------------------------------------------------------------- */

static char got[1024];
static mcp_error error;

static void take(void *arg, mcp_str key, mcp_str record)
{
    char *to = arg;
    size_t at = strlen(to);
    snprintf(to + at, sizeof(got) - at, "%.*s=%.*s;", (int)key.len, key.ptr, (int)record.len,
             record.ptr);
}

static int load_with(const mcp_allocator *a, const char *key)
{
    mcp__records r;
    got[0] = '\0';
    memset(&error, 0, sizeof(error));
    int rc = mcp__records_init(&r, mcp__allocator(a), path, &error);
    if (rc == MCP_OK)
        rc = mcp__records_load(&r, key, take, got, &error);
    mcp__records_free(&r);
    return rc;
}

static int save_with(const mcp_allocator *a, const char *key, const char *record)
{
    mcp__records r;
    memset(&error, 0, sizeof(error));
    int rc = mcp__records_init(&r, mcp__allocator(a), path, &error);
    if (rc == MCP_OK)
        rc = mcp__records_save(&r, key, mcp_str_from(record), &error);
    mcp__records_free(&r);
    return rc;
}

static int load(const char *key)
{
    return load_with(NULL, key);
}

static int save(const char *key, const char *record)
{
    return save_with(NULL, key, record);
}

/* ---- contents -------------------------------------------------------------------------------- */

static void test_records(void **state)
{
    (void)state;
    assert_int_equal(load("a"), MCP_ENOTFOUND);
    assert_int_equal(load(NULL), MCP_OK);
    assert_int_equal(save("a", NULL), MCP_OK); /* nothing to remove */
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(save("a", RECORD), MCP_OK);
    assert_int_equal(load("a"), MCP_OK);
    assert_string_equal(got, "a=" RECORD ";");
    assert_int_equal(save("https://b/ \"x", "{}"), MCP_OK);
    assert_int_equal(save("a", "[\n1]"), MCP_OK);
    assert_int_equal(load(NULL), MCP_OK);
    assert_string_equal(got, "https://b/ \"x={};a=[ 1];");
    assert_int_equal(save("a", NULL), MCP_OK);
    assert_int_equal(load("a"), MCP_ENOTFOUND);
    assert_int_equal(load("https://b/ \"x"), MCP_OK);
    assert_int_equal(count_files(), 2); /* the file and its lock */
}

static void test_private(void **state)
{
    struct stat s;
    (void)state;
    mode_t before = umask(0);
    assert_int_equal(save("a", RECORD), MCP_OK);
    umask(before);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 07777, 0600);
    assert_int_equal(stat(in_folder("auth.json.lock"), &s), 0);
    assert_int_equal(s.st_mode & 07777, 0600);
    assert_int_equal(stat(in_folder("."), &s), 0);
    assert_int_equal(s.st_mode & 07777, 0700);
    assert_int_equal(stat(in_folder(".."), &s), 0);
    assert_int_equal(s.st_mode & 07777, 0700);
}

static void test_unknown_members(void **state)
{
    (void)state;
    assert_int_equal(save("a", RECORD), MCP_OK);
    put_file("{\"later\":{\"x\":1.500},\"version\":1,\"records\":{\"b\":{\"y\":1e2}}}", 0600);
    assert_int_equal(save("a", RECORD), MCP_OK);
    assert_string_equal(get_file(), "{\"version\":1,\"records\":{\"b\":{\"y\":1e2},\"a\":" RECORD
                                    "},\"later\":{\"x\":1.500}}");
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Nothing is read from this file, nothing is changed in it, and the text says why. */
static void assert_refused(int rc, const char *why)
{
    char before[4096];
    snprintf(before, sizeof(before), "%s", get_file());
    assert_int_equal(load("a"), rc);
    assert_non_null(strstr(error.text, why));
    assert_non_null(strstr(error.text, "auth.json"));
    assert_int_equal(load(NULL), rc);
    assert_int_equal(save("a", RECORD), rc);
    assert_non_null(strstr(error.text, why));
    assert_string_equal(get_file(), before);
}

static void test_damaged(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "x",
        "{}",
        "[]",
        "{\"version\":1}",
        "{\"version\":1,\"records\":[]}",
        "{\"version\":0,\"records\":{}}",
        "{\"version\":\"1\",\"records\":{}}",
        "{\"version\":1,\"records\":{\"a\":{},\"a\":{}}}",
        "{\"version\":1,\"records\":{\"a\":{\"b\":\"\xff\"}}}",
    };
    (void)state;
    assert_int_equal(save("a", RECORD), MCP_OK);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        put_file(texts[i], 0600);
        assert_refused(MCP_EPARSE, "nothing is changed");
    }
    put_file("{\"version\":2,\"records\":7}", 0600);
    assert_refused(MCP_EUNSUPPORTED, "later version");
}

static void test_not_private(void **state)
{
    (void)state;
    assert_int_equal(save("a", RECORD), MCP_OK);
    for (mode_t bit = 1; bit < 0100; bit <<= 1) {
        assert_int_equal(chmod(path, 0600 | bit), 0);
        assert_refused(MCP_EACCESS, "can be used by others");
    }
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(chmod(in_folder("."), 0770), 0);
    assert_refused(MCP_EACCESS, "folder that others may write to");
    assert_int_equal(chmod(in_folder("."), 0755), 0);
    assert_int_equal(load("a"), MCP_OK);
    assert_int_equal(chmod(in_folder("auth.json.lock"), 0666), 0);
    assert_int_equal(save("a", RECORD), MCP_EACCESS);
}

static void test_other_user(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(save("a", RECORD), MCP_OK);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_refused(MCP_EACCESS, "belongs to another user");
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(chown(in_folder("."), 12345, 12345), 0);
    assert_refused(MCP_EACCESS, "folder of another user");
    assert_int_equal(chown(in_folder("."), 0, 0), 0);
    char moved[256];
    snprintf(moved, sizeof(moved), "%s", in_folder("moved"));
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink("moved", path), 0);
    assert_int_equal(lchown(path, 12345, 12345), 0);
    assert_refused(MCP_EACCESS, "link of another user");
}

static void test_links_and_kinds(void **state)
{
    struct stat s;
    char elsewhere[256];
    (void)state;
    assert_int_equal(save("a", RECORD), MCP_OK);
    snprintf(elsewhere, sizeof(elsewhere), "%s/moved.json", folder);
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    assert_int_equal(save("b", "{}"), MCP_OK); /* a link of this user is followed and stays */
    assert_int_equal(lstat(path, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(load(NULL), MCP_OK);
    assert_string_equal(got, "a=" RECORD ";b={};");
    assert_int_equal(unlink(elsewhere), 0);
    assert_int_equal(load("a"), MCP_EIO); /* a link to nothing */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(load("a"), MCP_EACCESS);
    assert_int_equal(save("a", RECORD), MCP_EACCESS);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(load("a"), MCP_EACCESS); /* it does not wait for a writer */
    snprintf(path, sizeof(path), "%s/", folder);
    assert_int_equal(load("a"), MCP_EINVAL);
    path[0] = '\0';
    assert_int_equal(load("a"), MCP_EINVAL);
}

static void test_limits(void **state)
{
    (void)state;
    char *large = malloc(MCP__RECORD_MAX_BYTES + 2);
    assert_non_null(large);
    memset(large, ' ', MCP__RECORD_MAX_BYTES + 1);
    large[MCP__RECORD_MAX_BYTES + 1] = '\0';
    memcpy(large, "{}", 2);
    assert_int_equal(save("a", large), MCP_ELIMIT);
    free(large);
    assert_int_equal(save("a", "{\"b\":"), MCP_EPARSE);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(save("a", "{}"), MCP_OK);
    assert_int_equal(truncate(path, MCP__RECORDS_MAX_BYTES + 1), 0);
    assert_int_equal(load("a"), MCP_ELIMIT);
}

/* ---- locks ----------------------------------------------------------------------------------- */

typedef struct waiter {
    mcp__record_lock *lock;
    int rc, done;
} waiter;

static void on_locked(int rc, const mcp_error *why, void *arg)
{
    waiter *w = arg;
    assert_true((rc == MCP_OK) == (why == NULL));
    w->rc = rc;
    w->done++;
}

static int begin(mcp_loop *loop, const mcp__records *r, const char *key, uint64_t ms, waiter *w)
{
    memset(w, 0, sizeof(*w));
    return mcp__record_lock_new(loop, r, key, ms, on_locked, w, &w->lock, &error);
}

static void run_until(mcp_loop *loop, const int *done)
{
    for (int64_t end = wait_end(); !*done && wait_more(end);)
        mcp_loop_step(loop, 20);
    assert_true(*done);
}

static void test_lock(void **state)
{
    mcp_loop *loop;
    mcp__records r;
    waiter a, b, c, d;
    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    assert_int_equal(mcp__records_init(&r, mcp__allocator(NULL), path, &error), MCP_OK);
    assert_int_equal(begin(loop, &r, "a", 60000, &a), MCP_OK);
    assert_int_equal(begin(loop, &r, "other", 60000, &b), MCP_OK);
    assert_int_equal(begin(loop, &r, "a", 60000, &c), MCP_PENDING);
    assert_int_equal(begin(loop, &r, "a", 30, &d), MCP_PENDING);
    assert_int_equal(save("a", RECORD), MCP_OK); /* the lock of a record is not that of the file */
    run_until(loop, &d.done);
    assert_int_equal(d.rc, MCP_ETIMEOUT);
    assert_int_equal(c.done, 0);
    mcp__record_lock_free(d.lock);
    mcp__record_lock_free(a.lock);
    run_until(loop, &c.done);
    assert_int_equal(c.rc, MCP_OK);
    assert_int_equal(begin(loop, &r, "a", 60000, &a), MCP_PENDING);
    mcp__record_lock_free(a.lock); /* ends the wait */
    mcp__record_lock_free(c.lock);
    mcp__record_lock_free(b.lock);
    mcp__record_lock_free(NULL);
    mcp_loop_step(loop, 20);
    assert_int_equal(a.done, 0);
    mcp__records_free(&r);
    mcp_loop_free(loop);
}

/* If the whole folder is removed while somebody waits, the lock on what was removed excludes
 * nobody. */
static void test_lock_of_a_removed_file(void **state)
{
    mcp_loop *loop;
    mcp__records r;
    waiter a, b, c;
    char command[256];
    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    assert_int_equal(mcp__records_init(&r, mcp__allocator(NULL), path, &error), MCP_OK);
    assert_int_equal(begin(loop, &r, "a", 60000, &a), MCP_OK);
    assert_int_equal(begin(loop, &r, "a", 60000, &b), MCP_PENDING);
    snprintf(command, sizeof(command), "rm -r %s/state", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(begin(loop, &r, "a", 60000, &c), MCP_OK);
    mcp__record_lock_free(a.lock);
    for (int64_t end = wait_now() + 300; wait_more(end);)
        mcp_loop_step(loop, 20);
    assert_int_equal(b.done, 0); /* c has the lock */
    mcp__record_lock_free(c.lock);
    run_until(loop, &b.done);
    assert_int_equal(b.rc, MCP_OK);
    mcp__record_lock_free(b.lock);
    mcp__records_free(&r);
    mcp_loop_free(loop);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
    (void)state;
    assert_int_equal(save("b", "{}"), MCP_OK);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        int rc = save_with(&a, "a", RECORD);
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(rc, MCP_OK);
            break;
        }
        assert_int_equal(rc, MCP_ENOMEM);
        assert_int_equal(load(NULL), MCP_OK);
        assert_string_equal(got, "b={};");
    }
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        int rc = load_with(&a, "a");
        assert_int_equal(f.live, 0);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        if (f.calls < n)
            break;
    }
    assert_int_equal(count_files(), 2);
}

static void test_no_memory_for_locks(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        mcp_loop *loop;
        mcp__records r;
        waiter a, b;
        failalloc f = {0};
        mcp_allocator allocator = failalloc_allocator(&f);
        assert_int_equal(mcp_loop_new(&allocator, &loop, NULL), MCP_OK);
        assert_int_equal(mcp__records_init(&r, &allocator, path, &error), MCP_OK);
        assert_int_equal(begin(loop, &r, "a", 60000, &a), MCP_OK);
        f.calls = 0, f.fail_at = n;
        int rc = begin(loop, &r, "a", 60000, &b);
        if (rc == MCP_PENDING) {
            mcp_loop_step(loop, 20);
            mcp__record_lock_free(a.lock);
            a.lock = NULL;
            run_until(loop, &b.done);
            assert_true(b.rc == MCP_OK || b.rc == MCP_ENOMEM);
            mcp__record_lock_free(b.lock);
        } else {
            assert_int_equal(rc, MCP_ENOMEM);
        }
        bool enough = f.calls < n;
        mcp__record_lock_free(a.lock);
        mcp__records_free(&r);
        mcp_loop_free(loop);
        assert_int_equal(f.live, 0);
        if (enough)
            break;
    }
}

/* Every system call fails, with every one of these errors: the records are the old or the new
 * ones. */
static void test_failing_calls(void **state)
{
    static const int errors[] = {EIO, ENOSPC, EMFILE, EACCES, ENOMEM};
    (void)state;
    assert_int_equal(save("b", "{}"), MCP_OK);
    for (size_t e = 0; e < sizeof(errors) / sizeof(*errors); e++) {
        int descriptors = open_descriptors();
        for (size_t n = 1;; n++) {
            sys.calls = 0, sys.fail_at = n, sys.with = errors[e];
            int rc = save("a", RECORD);
            sys.fail_at = 0;
            assert_true((rc == MCP_OK) == (error.text[0] == '\0'));
            bool enough = sys.calls < n;
            assert_int_equal(load(NULL), MCP_OK);
            assert_string_equal(got, rc == MCP_OK ? "b={};a=" RECORD ";" : "b={};");
            assert_int_equal(save("a", NULL), MCP_OK);
            assert_int_equal(count_files(), 2);
            assert_int_equal(open_descriptors(), descriptors);
            if (enough) {
                assert_true(n > 15);
                break;
            }
        }
    }
}

/* The disk becomes full after each number of bytes. */
static void test_disk_full(void **state)
{
    (void)state;
    assert_int_equal(save("b", "{}"), MCP_OK);
    sys.full = true;
    for (size_t n = 0;; n++) {
        sys.room = n;
        int rc = save("a", RECORD);
        if (rc == MCP_OK) {
            assert_true(n > 60);
            break;
        }
        assert_int_equal(rc, MCP_EIO);
        assert_non_null(strstr(error.text, "No space left on device"));
        assert_int_equal(load(NULL), MCP_OK);
        assert_string_equal(got, "b={};");
        assert_int_equal(count_files(), 2);
    }
}

/* A process that ended while it wrote leaves a part of a new file. */
static void test_left_behind(void **state)
{
    (void)state;
    assert_int_equal(save("b", "{}"), MCP_OK);
    FILE *f = fopen(in_folder("auth.json.new"), "we");
    assert_non_null(f);
    fputs("{\"ver", f);
    fclose(f);
    assert_int_equal(save("a", RECORD), MCP_OK);
    assert_int_equal(load(NULL), MCP_OK);
    assert_string_equal(got, "b={};a=" RECORD ";");
    assert_int_equal(count_files(), 2);
}

/* ---- the store of a client ------------------------------------------------------------------- */

static void take_record(void *arg, mcp_str record)
{
    take(arg, MCP_STR("r"), record);
}

static void test_functions(void **state)
{
    mcp_loop *loop;
    mcp_oauth_file_store *store = NULL;
    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    assert_int_equal(mcp_oauth_file_store_new(loop, NULL, &store, &error), MCP_EINVAL);
    assert_int_equal(
        mcp_oauth_file_store_new(loop, MCP_OPTIONS(mcp_oauth_file_options), &store, &error),
        MCP_EINVAL);
    assert_null(mcp_oauth_file_store_get(NULL));
    assert_int_equal(mcp_oauth_file_store_list(NULL, take, got, &error), MCP_EINVAL);
    assert_int_equal(mcp_oauth_file_store_new(
                         loop, MCP_OPTIONS(mcp_oauth_file_options, .path = path), &store, &error),
                     MCP_OK);
    const mcp_oauth_store *f = mcp_oauth_file_store_get(store);
    got[0] = '\0';
    assert_int_equal(f->load("a", take_record, got, f->user, &error), MCP_ENOTFOUND);
    assert_int_equal(f->lock(NULL, "a", f->user), MCP_OK);
    assert_int_equal(f->lock(NULL, "a", f->user), MCP_PENDING);
    assert_int_equal(f->save("a", MCP_STR(RECORD), f->user, &error), MCP_OK);
    assert_int_equal(f->load("a", take_record, got, f->user, &error), MCP_OK);
    assert_string_equal(got, "r=" RECORD ";");
    f->unlock(NULL, "a", f->user);
    f->unlock(NULL, "other", f->user);
    got[0] = '\0';
    assert_int_equal(mcp_oauth_file_store_list(store, take, got, &error), MCP_OK);
    assert_string_equal(got, "a=" RECORD ";");
    assert_int_equal(f->save("a", (mcp_str){0}, f->user, &error), MCP_OK);
    assert_int_equal(f->load("a", take_record, got, f->user, &error), MCP_ENOTFOUND);
    mcp_oauth_file_store_free(store); /* also ends the lock that is left */
    mcp_oauth_file_store_free(NULL);
    mcp_loop_free(loop);
}

static void test_no_memory_for_stores(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        mcp_loop *loop;
        mcp_oauth_file_store *store = NULL;
        failalloc f = {0};
        mcp_allocator allocator = failalloc_allocator(&f);
        assert_int_equal(mcp_loop_new(&allocator, &loop, NULL), MCP_OK);
        f.calls = 0, f.fail_at = n;
        int rc = mcp_oauth_file_store_new(loop, MCP_OPTIONS(mcp_oauth_file_options, .path = path),
                                          &store, &error);
        if (rc == MCP_OK) {
            const mcp_oauth_store *s = mcp_oauth_file_store_get(store);
            rc = s->lock(NULL, "a", s->user);
        }
        bool enough = f.calls < n;
        assert_int_equal(rc, enough ? MCP_OK : MCP_ENOMEM);
        mcp_oauth_file_store_free(store);
        mcp_loop_free(loop);
        assert_int_equal(f.live, 0);
        if (enough)
            break;
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, clean)
    const struct CMUnitTest tests[] = {
        TEST(test_records),
        TEST(test_private),
        TEST(test_unknown_members),
        TEST(test_damaged),
        TEST(test_not_private),
        TEST(test_other_user),
        TEST(test_links_and_kinds),
        TEST(test_limits),
        TEST(test_lock),
        TEST(test_lock_of_a_removed_file),
        TEST(test_no_memory),
        TEST(test_no_memory_for_locks),
        TEST(test_failing_calls),
        TEST(test_disk_full),
        TEST(test_left_behind),
        TEST(test_functions),
        TEST(test_no_memory_for_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
