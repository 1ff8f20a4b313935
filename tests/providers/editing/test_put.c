/* test_put.c: files are made, replaced, moved and removed; what is refused, and what a replaced file keeps. */
#include "folder.h"

#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static folder f;

static int set_up(void **state)
{
    (void)state;
    umask(022);
    folder_make(&f);
    tree_file(&f.t, "in/a.txt", "old");
    tree_dir(&f.t, "in/sub");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(&f);
    return 0;
}

static void assert_nothing_left(void)
{
    assert_int_equal(temporaries(&f, "in"), 0);
    assert_int_equal(temporaries(&f, "in/sub"), 0);
    assert_int_equal(count_names(&f, "in", "mcpd-saved"), 0);
}

static struct stat status(const char *rel)
{
    struct stat st;
    assert_int_equal(fstatat(f.at.fd, rel, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st;
}

/* ---- what is done ---- */

static void test_makes(void **state)
{
    (void)state;
    assert_int_equal(put_new(&f, "sub/new.txt", "new"), MCP_OK);
    assert_string_equal(said.text, "");
    assert_string_equal(contents(&f, "sub/new.txt"), "new");
    assert_string_equal(last.version.text, version_of(&f, "sub/new.txt"));
    assert_int_equal(status("sub/new.txt").st_mode & 07777, 0644);
    assert_int_equal(put_new(&f, "sub/new.txt", "again"), MCP_EEXIST);
    assert_string_equal(last.version.text, version_of(&f, "sub/new.txt"));
    assert_string_equal(contents(&f, "sub/new.txt"), "new");
    assert_int_equal(put_new(&f, "none/new.txt", "new"), MCP_ENOTFOUND);
    assert_int_equal(put_new(&f, "empty", ""), MCP_OK);
    assert_string_equal(contents(&f, "empty"), "");
    assert_nothing_left();
}

/* Neither the umask nor a default list of the folder gives a new file an executable bit. */
static void test_new_is_not_executable(void **state)
{
    (void)state;
    umask(0);
    assert_int_equal(put_new(&f, "open", "x"), MCP_OK);
    assert_int_equal(status("open").st_mode & 07777, 0666);
    umask(077);
    assert_int_equal(put_new(&f, "closed", "x"), MCP_OK);
    assert_int_equal(status("closed").st_mode & 07777, 0600);
    umask(022);
    char command[256];
    snprintf(command, sizeof(command), "setfacl -d -m u::rwx,g::r-x,o::--- %s 2>/dev/null",
             tree_at(&f.t, "in/sub"));
    if (system(command) == 0) {
        assert_int_equal(put_new(&f, "sub/listed", "x"), MCP_OK);
        assert_int_equal(status("sub/listed").st_mode & 07777, 0640);
    } else
        print_message(
            "# no setfacl or no access control lists here: default lists are not tested\n");
}

static void test_replaces(void **state)
{
    char before[EDITING_VERSION_SIZE];
    (void)state;
    strcpy(before, version_of(&f, "a.txt"));
    chmod(tree_at(&f.t, "in/a.txt"), 0751);
    assert_int_equal(put_over(&f, "a.txt", "changed", before),
                     MCP_ESTATE); /* the mode is part of the version */
    assert_int_equal(put_over(&f, "a.txt", "changed", version_of(&f, "a.txt")), MCP_OK);
    assert_string_equal(contents(&f, "a.txt"), "changed");
    assert_string_equal(last.version.text, version_of(&f, "a.txt"));
    assert_int_equal(status("a.txt").st_mode & 07777, 0751);
    assert_int_equal(put_over(&f, "a.txt", "older", before), MCP_ESTATE);
    assert_string_equal(last.version.text, version_of(&f, "a.txt"));
    assert_non_null(strstr(said.text, "a.txt: it has another version"));
    assert_string_equal(contents(&f, "a.txt"), "changed");
    assert_int_equal(put_over(&f, "a.txt", "unconditional", ""), MCP_OK);
    assert_int_equal(put_over(&f, "none", "x", ""), MCP_ENOTFOUND);
    assert_int_equal(put_over(&f, "sub", "x", ""), MCP_EACCESS);
    assert_nothing_left();
}

static void test_large(void **state)
{
    static char bytes[300000];
    (void)state;
    memset(bytes, 'x', sizeof(bytes) - 1);
    assert_int_equal(put_over(&f, "a.txt", bytes, ""), MCP_OK);
    assert_int_equal(put_over(&f, "a.txt", bytes + 1, last.version.text), MCP_OK);
    assert_int_equal(strlen(contents(&f, "a.txt")), sizeof(bytes) - 2);
    assert_nothing_left();
}

static void test_moves(void **state)
{
    (void)state;
    ino_t inode = status("a.txt").st_ino;
    assert_int_equal(put_to(&f, "a.txt", "sub/b.txt", version_of(&f, "a.txt")), MCP_OK);
    assert_null(contents(&f, "a.txt"));
    assert_string_equal(contents(&f, "sub/b.txt"), "old");
    assert_string_equal(last.version.text, version_of(&f, "sub/b.txt"));
    assert_int_equal(status("sub/b.txt").st_ino, inode);
    tree_file(&f.t, "in/c", "c");
    assert_int_equal(put_to(&f, "c", "sub/b.txt", ""), MCP_EEXIST);
    assert_int_equal(put_to(&f, "c", "none/b", ""), MCP_ENOTFOUND);
    assert_int_equal(put_to(&f, "c", "d", "1-2-3"), MCP_ESTATE);
    assert_int_equal(put_to(&f, "sub", "sub2", ""), MCP_EACCESS);
    assert_string_equal(contents(&f, "c"), "c");
    assert_nothing_left();
}

static void test_removes(void **state)
{
    (void)state;
    assert_int_equal(put_away(&f, "a.txt", "1-2-3"), MCP_ESTATE);
    assert_int_equal(put_away(&f, "a.txt", version_of(&f, "a.txt")), MCP_OK);
    assert_null(contents(&f, "a.txt"));
    assert_int_equal(put_away(&f, "a.txt", ""), MCP_ENOTFOUND);
    assert_int_equal(put_away(&f, "sub", ""), MCP_EACCESS);
    assert_nothing_left();
}

/* ---- versions ---- */

/* A list of a folder has versions without a hash. */
static void test_version_without_hash(void **state)
{
    (void)state;
    struct stat st = status("a.txt");
    editing_version version;
    editing_version_make(&st, NULL, &version);
    assert_true(strlen(version.text) < strlen(version_of(&f, "a.txt")));
    assert_int_equal(put_over(&f, "a.txt", "new", version.text), MCP_OK);
    version = last.version;
    for (size_t len = 1; len < strlen(version.text); len++) {
        bool whole = version.text[len] == '-' && strchr(version.text + len + 1, '-') == NULL;
        assert_int_equal(editing_version_matches((mcp_str){version.text, len}, &version), whole);
    }
    assert_false(editing_version_matches(text_of(""), &version));
}

static void test_same_contents(void **state)
{
    static const struct {
        const char *given, *now;
        bool same;
    } rows[] = {
        {"a1-b2-c3-d4", "a1-b2-c3-d4", true},   {"a1-b2-c3-d4", "a1-bb-c3-d4", true},
        {"a1-b2-c3-d4", "a1-b2-c3-d5", false},  {"a1-b2-c3-d4", "a1-b2-c4-d4", false},
        {"a1-b2-c3-d4", "a2-b2-c3-d4", false},  {"a1-b2-c3-d4", "a11-b2-c3-d4", false},
        {"a1-b2-c3", "a1-b2-c3", false},        {"a1-b2-c3", "a1-b2-c3-d4", false},
        {"a1-b2-c3-d4", "a1-b2-c3", false},     {"", "a1-b2-c3-d4", false},
        {"a1-b2-c3-d44", "a1-b2-c3-d4", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        editing_version now;
        snprintf(now.text, sizeof(now.text), "%s", rows[i].now);
        assert_int_equal(editing_version_same_contents(text_of(rows[i].given), &now), rows[i].same);
    }
}

/* A change within one tick of the clock has the same times; the hash shows it. */
static void test_hash(void **state)
{
    (void)state;
    struct stat st = status("a.txt");
    editing_version versions[300];
    char bytes[300] = {0};
    for (size_t i = 0; i < 300; i++) {
        bytes[i]++;
        editing_version_make(&st, &(mcp_str){bytes, sizeof(bytes)}, &versions[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(versions[i].text, versions[j].text);
    }
    for (size_t i = 0; i < 300; i++) { /* the same bytes, fewer of them */
        editing_version_make(&st, &(mcp_str){"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", i % 17},
                             &versions[i]);
        for (size_t j = 0; j < i && i < 17; j++)
            assert_string_not_equal(versions[i].text, versions[j].text);
    }
}

/* ---- what is refused ---- */

static void link_out(void)
{
    tree_file(&f.t, "out/x", "outside");
    tree_link(&f.t, "in/x", "../out/x");
}
static void fifo(void)
{
    assert_int_equal(mkfifo(tree_at(&f.t, "in/x"), 0600), 0);
}
static void socket_file(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof(name.sun_path), "%s", tree_at(&f.t, "in/x"));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
    close(fd);
}
static void device(void)
{
    if (mknod(tree_at(&f.t, "in/x"), S_IFCHR | 0600, 0x103) != 0) /* null */
        skip();
}
static void folder_there(void)
{
    tree_dir(&f.t, "in/x");
}
static void two_links(void)
{
    tree_file(&f.t, "in/x", "x");
    assert_int_equal(link(tree_at(&f.t, "in/x"), tree_at(&f.t, "in/y")), 0);
}
static void with_mode(mode_t mode)
{
    tree_file(&f.t, "in/x", "x");
    assert_int_equal(chmod(tree_at(&f.t, "in/x"), mode), 0);
}
static void setuid_file(void)
{
    with_mode(04755);
}
static void setgid_file(void)
{
    with_mode(02755);
}
static void read_only(void)
{
    with_mode(0444);
}
static void foreign(void)
{
    tree_file(&f.t, "in/x", "x");
    if (chown(tree_at(&f.t, "in/x"), 1234, (gid_t)-1) != 0)
        skip();
}
static void capable(void)
{
    static const unsigned char net_raw[20] = {1, 0, 0, 2, 0, 0x20};
    tree_file(&f.t, "in/x", "x");
    if (setxattr(tree_at(&f.t, "in/x"), "security.capability", net_raw, sizeof(net_raw), 0) != 0)
        skip();
}
static void flagged(int flag)
{
    tree_file(&f.t, "in/x", "x");
    int fd = open(tree_at(&f.t, "in/x"), O_RDONLY | O_CLOEXEC);
    int flags = 0;
    bool set = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 &&
               (flags |= flag, ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0);
    close(fd);
    if (!set)
        skip();
}
static void immutable(void)
{
    flagged(FS_IMMUTABLE_FL);
}
static void append_only(void)
{
    flagged(FS_APPEND_FL);
}
static int writer = -1;
static void being_written(void)
{
    tree_file(&f.t, "in/x", "x");
    writer = open(tree_at(&f.t, "in/x"), O_WRONLY | O_CLOEXEC);
    assert_true(writer >= 0);
}
static void locked(void)
{
    being_written();
    close(writer);
    writer = open(tree_at(&f.t, "in/x"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(writer, LOCK_SH), 0);
}
static void mounted(void)
{
    tree_file(&f.t, "in/x", "x");
    tree_file(&f.t, "out/x", "x");
    char other[256];
    strcpy(other, tree_at(&f.t, "out/x"));
    if (mount(other, tree_at(&f.t, "in/x"), NULL, MS_BIND, NULL) != 0)
        skip();
}

static const struct {
    const char *name;
    void (*make)(void);
    int code;
    const char *text; /* what is said of it */
} refused[] = {
    {"link", link_out, MCP_EACCESS, "a symbolic link is in the path"},
    {"fifo", fifo, MCP_EACCESS, "not a regular file"},
    {"socket", socket_file, MCP_EACCESS, "not a regular file"},
    {"device", device, MCP_EACCESS, "not a regular file"},
    {"folder", folder_there, MCP_EACCESS, "not a regular file"},
    {"links", two_links, MCP_EACCESS, "more than one link"},
    {"setuid", setuid_file, MCP_EACCESS, "is setuid"},
    {"setgid", setgid_file, MCP_EACCESS, "is setgid"},
    {"read-only", read_only, MCP_EACCESS, "is read-only"},
    {"foreign", foreign, MCP_EACCESS, "belongs to another user"},
    {"capable", capable, MCP_EACCESS, "has capabilities"},
    {"immutable", immutable, MCP_EACCESS, "is immutable"},
    {"append-only", append_only, MCP_EACCESS, "may only be appended to"},
    {"written", being_written, MCP_ESTATE, "has it open for writing"},
    {"locked", locked, MCP_ESTATE, "has locked it"},
    {"mount", mounted, MCP_EACCESS, "on another mount"},
};

static void undo_refused(void)
{
    int flags = 0;
    int fd = open(tree_at(&f.t, "in/x"), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0) {
        ioctl(fd, FS_IOC_SETFLAGS, &flags);
        close(fd);
    }
    umount2(tree_at(&f.t, "in/x"), MNT_DETACH);
    if (writer >= 0)
        close(writer);
    writer = -1;
}

static void assert_refused(size_t i, int rc)
{
    if (rc != refused[i].code || !strstr(said.text, refused[i].text))
        print_error("%s: %d, %s\n", refused[i].name, rc, said.text);
    assert_int_equal(rc, refused[i].code);
    assert_non_null(strstr(said.text, "x: "));
    assert_non_null(strstr(said.text, refused[i].text));
}

/* The row of the table is the state of the test. */
static void test_refused(void **state)
{
    size_t i = *(const size_t *)*state;
    refused[i].make();
    struct stat before = status("x");
    assert_int_equal(put_new(&f, "x", "new"), MCP_EEXIST);
    assert_refused(i, put_over(&f, "x", "new", ""));
    assert_refused(i, put_away(&f, "x", ""));
    assert_refused(i, put_to(&f, "x", "sub/x", ""));
    struct stat after = status("x");
    assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
    assert_int_equal(before.st_ino, after.st_ino);
    assert_nothing_left();
    undo_refused();
}

static int set_up_refused(void **state)
{
    void *kept = *state;
    int rc = set_up(state);
    *state = kept;
    return rc;
}

static int tear_down_refused(void **state)
{
    undo_refused();
    return tear_down(state);
}

/* ---- paths ---- */

static void test_paths(void **state)
{
    static const char *const paths[] = {
        "",          ".",       "..",   "../out/x", "/etc/x",
        "sub/../x",  "sub//x",  "sub/", "./x",      "way/x",
        "sub/way/x", "a.txt/x", "/",    "up/x",     ".mcpd-0123456789abcdef.tmp",
        "proc/x"};
    (void)state;
    tree_file(&f.t, "out/x", "outside");
    tree_link(&f.t, "in/way", "../out");
    tree_link(&f.t, "in/sub/way", tree_at(&f.t, "out"));
    tree_link(&f.t, "in/up", "sub");
    tree_link(&f.t, "in/proc", "/proc/self/cwd");
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_true(put_new(&f, paths[i], "new") < 0);
        assert_true(put_over(&f, paths[i], "new", "") < 0);
        assert_true(put_away(&f, paths[i], "") < 0);
        assert_true(put_to(&f, paths[i], "moved", "") < 0);
        assert_true(put_to(&f, "a.txt", paths[i], "") < 0);
        assert_true(said.text[0] != '\0');
    }
    assert_string_equal(contents(&f, "../out/x"), "outside");
    assert_string_equal(contents(&f, "a.txt"), "old");
    assert_nothing_left();
}

static void test_needs_openat2(void **state)
{
    (void)state;
    f.at.walk = true;
    assert_int_equal(put_new(&f, "new", "new"), MCP_EUNSUPPORTED);
    assert_non_null(strstr(said.text, "openat2"));
    f.at.walk = false;
}

/* A name that the disk does not take, and a long path in the text of an error. */
static void test_long(void **state)
{
    char name[300];
    (void)state;
    memset(name, 'n', sizeof(name));
    name[255] = '\0';
    assert_int_equal(put_new(&f, name, "new"), MCP_OK);
    assert_int_equal(put_over(&f, name, "newer", last.version.text), MCP_OK);
    assert_int_equal(put_new(&f, name, "new"), MCP_EEXIST);
    assert_int_equal(strncmp(said.text, "...n", 4), 0);
    name[255] = 'n';
    name[256] = '\0';
    assert_true(put_new(&f, name, "new") < 0);
    assert_nothing_left();
}

/* ---- what is kept ---- */

static void test_keeps_attributes(void **state)
{
    char value[64];
    (void)state;
    char path[256];
    strcpy(path, tree_at(&f.t, "in/a.txt"));
    if (setxattr(path, "user.note", "hello", 5, 0) != 0)
        skip();
    assert_int_equal(put_over(&f, "a.txt", "new", ""), MCP_OK);
    assert_int_equal(getxattr(path, "user.note", value, sizeof(value)), 5);
    assert_memory_equal(value, "hello", 5);
}

static void test_keeps_group_and_flags(void **state)
{
    int flags = 0;
    (void)state;
    char path[256];
    strcpy(path, tree_at(&f.t, "in/a.txt"));
    if (chown(path, (uid_t)-1, 4321) != 0)
        skip();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool flagged = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 &&
                   (flags |= FS_NODUMP_FL, ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0);
    close(fd);
    assert_int_equal(put_over(&f, "a.txt", "new", ""), MCP_OK);
    assert_int_equal(status("a.txt").st_gid, 4321);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    int now = 0;
    ioctl(fd, FS_IOC_GETFLAGS, &now);
    close(fd);
    if (flagged)
        assert_int_equal(now, flags);
}

/* The list of the file counts, and neither that of the folder nor the mode alone. */
static void test_keeps_list(void **state)
{
    char command[512];
    char value[2][256];
    (void)state;
    char path[256];
    strcpy(path, tree_at(&f.t, "in/sub/listed"));
    tree_file(&f.t, "in/sub/listed", "x");
    tree_file(&f.t, "in/sub/plain", "x");
    snprintf(command, sizeof(command),
             "setfacl -m u:1234:rw,m::rw %s 2>/dev/null && setfacl -d -m u:77:rwx %s", path,
             tree_at(&f.t, "in/sub"));
    if (system(command) != 0)
        skip();
    ssize_t len = getxattr(path, "system.posix_acl_access", value[0], sizeof(value[0]));
    assert_true(len > 0);
    assert_int_equal(put_over(&f, "sub/listed", "new", ""), MCP_OK);
    assert_int_equal(getxattr(path, "system.posix_acl_access", value[1], sizeof(value[1])), len);
    assert_memory_equal(value[0], value[1], (size_t)len);
    assert_int_equal(put_over(&f, "sub/plain", "new", ""), MCP_OK);
    assert_true(getxattr(tree_at(&f.t, "in/sub/plain"), "system.posix_acl_access", value[1],
                         sizeof(value[1])) < 0);
    assert_int_equal(status("sub/plain").st_mode & 07777, 0644);
}

/* ---- for a journal ---- */

static struct {
    int answer;
    unsigned calls;
    char old[16];
    ino_t was, fresh;
} told;

static int note(const editing_about *about, mcp_error *err, void *user)
{
    (void)err, (void)user;
    told.calls++;
    told.was = about->was ? about->was->st_ino : 0;
    told.fresh = about->fresh ? about->fresh->st_ino : 0;
    ssize_t n = about->old < 0 ? 0 : pread(about->old, told.old, sizeof(told.old) - 1, 0);
    told.old[n] = '\0';
    return told.answer;
}

static void test_tells_before(void **state)
{
    (void)state;
    editing_change change = {.at = f.at,
                             .rel = "a.txt",
                             .to = f.at,
                             .to_rel = "sub/b",
                             .content = text_of("new"),
                             .about = note};
    int (*calls[])(const editing_change *, editing_outcome *,
                   mcp_error *) = {editing_replace, editing_move, editing_remove};
    told.answer = MCP_ELIMIT;
    for (size_t i = 0; i < 3; i++) {
        told.calls = 0;
        assert_int_equal(calls[i](&change, &last, &said), MCP_ELIMIT);
        assert_true(said.text[0] != '\0');
        assert_int_equal(told.calls, 1);
        assert_int_equal(told.was, status("a.txt").st_ino);
        assert_string_equal(told.old, "old");
        assert_string_equal(contents(&f, "a.txt"), "old");
        assert_nothing_left();
    }
    change.rel = "made";
    assert_int_equal(editing_create(&change, &last, &said), MCP_ELIMIT);
    assert_null(contents(&f, "made"));
    told.answer = MCP_OK;
    assert_int_equal(editing_create(&change, &last, &said), MCP_OK);
    assert_int_equal(told.fresh, status("made").st_ino);
    assert_int_equal(editing_replace(&change, &last, &said), MCP_OK);
    assert_int_equal(told.fresh, status("made").st_ino);
}

/* ---- leftovers ---- */

static void test_sweeps(void **state)
{
    editing_swept swept;
    (void)state;
    tree_file(&f.t, "in/.mcpd-0123456789abcdef.tmp", "contents");
    tree_file(&f.t, "in/.mcpd-0123456789abcde0-1-2.tmp", "a save");
    tree_file(&f.t, "in/.mcpd-0123456789abcde1.tmp", "in use");
    tree_file(&f.t, "in/.mcpd-short.tmp", "not ours");
    int used = open(tree_at(&f.t, "in/.mcpd-0123456789abcde1.tmp"), O_RDONLY | O_CLOEXEC);
    flock(used, LOCK_SH);
    assert_int_equal(editing_sweep(f.at, "", 3600, &swept, &said), MCP_OK);
    assert_int_equal(swept.alive, 3); /* too young */
    assert_int_equal(swept.removed + swept.rescued, 0);
    assert_int_equal(editing_sweep(f.at, "", 0, &swept, &said), MCP_OK);
    assert_int_equal(swept.alive, 1);
    assert_int_equal(swept.removed, 1);
    assert_int_equal(swept.rescued, 1);
    assert_string_equal(contents(&f, swept.saved), "a save");
    close(used);
    assert_int_equal(editing_sweep(f.at, "", 0, &swept, &said), MCP_OK);
    assert_int_equal(swept.removed, 1);
    assert_string_equal(contents(&f, ".mcpd-short.tmp"), "not ours");
    assert_string_equal(contents(&f, "a.txt"), "old");
    assert_int_equal(editing_sweep(f.at, "none", 0, &swept, &said), MCP_ENOTFOUND);
}

/* ---- file systems that fold names ---- */

/* A folder of ext4 that folds names, in an image, if this kernel has that and this user may mount. */
static void test_folds(void **state)
{
    char command[1024];
    (void)state;
    snprintf(command, sizeof(command),
             "cd %s && truncate -s 16M image && mkfs.ext4 -q -O casefold -E encoding=utf8 image && "
             "mkdir -p in/m && "
             "mount -o loop image in/m && mkdir in/m/fold && chattr +F in/m/fold",
             f.t.path);
    snprintf(command + strlen(command), sizeof(command) - strlen(command), " 2>/dev/null");
    char quiet[1100];
    snprintf(quiet, sizeof(quiet), "(%s) >/dev/null 2>&1", command);
    if (system(quiet) != 0) {
        umount2(tree_at(&f.t, "in/m"), MNT_DETACH);
        print_message("# ext4 with casefold cannot be mounted here: not tested\n");
        skip();
    }
    common_beneath at = f.at;
    f.at.fd = open(tree_at(&f.t, "in/m/fold"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(put_new(&f, "Name", "x"), MCP_OK);
    assert_int_equal(put_new(&f, "nAME", "y"), MCP_EEXIST);
    assert_int_equal(put_over(&f, "nAME", "y", ""), MCP_EACCESS);
    assert_int_equal(put_over(&f, "Name", "y", ""), MCP_OK);
    close(f.at.fd);
    f.at = at;
    umount2(tree_at(&f.t, "in/m"), MNT_DETACH);
}

int main(void)
{
    struct CMUnitTest tests[64] = {
#define TEST(name) {#name, name, set_up, tear_down, NULL}
        TEST(test_makes),
        TEST(test_new_is_not_executable),
        TEST(test_replaces),
        TEST(test_large),
        TEST(test_moves),
        TEST(test_removes),
        TEST(test_version_without_hash),
        TEST(test_same_contents),
        TEST(test_hash),
        TEST(test_paths),
        TEST(test_needs_openat2),
        TEST(test_long),
        TEST(test_keeps_attributes),
        TEST(test_keeps_group_and_flags),
        TEST(test_keeps_list),
        TEST(test_tells_before),
        TEST(test_sweeps),
        TEST(test_folds),
    };
    enum { ROWS = sizeof(refused) / sizeof(refused[0]) };
    static size_t rows[ROWS];
    size_t n = 17;
    for (size_t i = 0; i < ROWS; i++) {
        rows[i] = i;
        tests[n++] = (struct CMUnitTest){refused[i].name, test_refused, set_up_refused,
                                         tear_down_refused, &rows[i]};
    }
    return _cmocka_run_group_tests("put", tests, n, NULL, NULL);
}
