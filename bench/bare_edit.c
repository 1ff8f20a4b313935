/* The system calls that `mcpd` makes for one edit_file, without anything in between: the lower bound of bench/edit, which
 * counts the calls of both.
 *
 *   bare_edit FOLDER NAME JOURNAL
 *
 * For each line on stdin the file NAME of FOLDER is replaced by what it has already, with all the looks and locks of
 * docs/writing.md, and entered into the file JOURNAL/bare.journal. Then a line is written to stdout. As in mcpd, a loop
 * waits for stdin, for notices about the folder and for the thread that waits for the disk. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    BENEATH = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    ALONE = BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    READ = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC,
    FOLDER = O_RDONLY | O_CLOEXEC | O_DIRECTORY,
    BLOCK = 4096,
    MOST = 1 << 20
};

static int folder, journal, journal_lock;
static const char *folder_name, *name;
static char content[MOST], answer[428];
static struct stat st;

static int must(long rc, const char *what)
{
    if (rc < 0) {
        perror(what);
        exit(1);
    }
    return (int)rc;
}

static int open_at(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
    struct open_how how = {.flags = flags, .resolve = resolve};
    return must(syscall(SYS_openat2, dir, path, &how, sizeof(how)), "openat2");
}

static void look(int dir, const char *path)
{
    must(fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT), path);
}

static void look_at(int fd)
{
    must(fstat(fd, &st), "fstat");
}

/* As the provider opens a file that it serves. */
static int open_served(void)
{
    look(folder, name);
    int fd = open_at(folder, name, READ, BENEATH);
    look_at(fd);
    return fd;
}

/* Rights: the file, whether it is in a repository, what is sealed; the spelling for three questions to the rules. */
static void ask(void)
{
    char path[4096];
    close(open_served());
    int fd = open_at(folder, ".", READ | O_DIRECTORY, BENEATH);
    (void)!fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
    close(fd);
    snprintf(path, sizeof(path) - 8, "%s/", folder_name);
    for (char *slash; (slash = strrchr(path, '/')) != NULL; *slash = '\0') {
        strcpy(slash, "/.git");
        (void)!stat(path, &st);
    }
    look(folder, name);
    must(stat(folder_name, &st), "stat");
    close(open_served());
    fd = open_served();
    must(pread(fd, content, sizeof(content), 0), "pread");
    close(fd);
    close(open_served());
}

static void look_inside(int fd)
{
    int flags;
    (void)!fgetxattr(fd, "security.capability", NULL, 0);
    (void)!fgetxattr(fd, "security.ima", NULL, 0);
    (void)!fgetxattr(fd, "security.evm", NULL, 0);
    must(ioctl(fd, FS_IOC_GETFLAGS, &flags), "FS_IOC_GETFLAGS");
    must(fcntl(fd, F_SETSIG, 23), "F_SETSIG");
    must(fcntl(fd, F_SETLEASE, F_RDLCK), "F_SETLEASE");
    must(fcntl(fd, F_SETLEASE, F_UNLCK), "F_SETLEASE");
}

static void read_blocks(int fd, off_t size)
{
    for (off_t at = 0; at < size; at += BLOCK)
        must(pread(fd, content + at, BLOCK, at), "pread");
    must(pread(fd, content + size, BLOCK, size), "pread"); /* nothing follows */
}

static int open_segment(void)
{
    struct dirent *entry;
    must(flock(journal_lock, LOCK_EX), "flock");
    DIR *dir = fdopendir(must(openat(journal, ".", FOLDER), "openat"));
    while (dir && (entry = readdir(dir)) != NULL)
        if (strstr(entry->d_name, ".journal"))
            must(fstatat(journal, entry->d_name, &st, AT_SYMLINK_NOFOLLOW), "fstatat");
    closedir(dir);
    int fd = must(openat(journal, "bare.journal", O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC),
                  "openat");
    look_at(fd);
    return fd;
}

static void append(int fd, const void *bytes, size_t n, off_t *at)
{
    must(pwrite(fd, bytes, n, *at), "pwrite");
    *at += (off_t)n;
}

static void enter(int old, off_t size)
{
    int fd = open_segment();
    char last[BLOCK];
    off_t at = st.st_size;
    must(pread(fd, last, sizeof(last), at > BLOCK ? at - BLOCK : 0), "pread");
    append(fd, answer, 190, &at);
    must(pread(old, content, (size_t)size, 0), "pread");
    append(fd, content, (size_t)size, &at);
    append(fd, answer, 24, &at);
    must(fdatasync(fd), "fdatasync");
    close(fd);
    flock(journal_lock, LOCK_UN);
}

static void enter_end(void)
{
    int fd = open_segment();
    char last[BLOCK];
    off_t at = st.st_size;
    must(pread(fd, last, sizeof(last), at > BLOCK ? at - BLOCK : 0), "pread");
    append(fd, answer, 178, &at);
    append(fd, answer, 24, &at);
    close(fd);
    flock(journal_lock, LOCK_UN);
}

/* Makes the new file under the neighbour's name. Returns its descriptor. */
static int make(int dir, int old, off_t size, char *neighbour)
{
    int flags;
    uint64_t random;
    int fd = must(openat(dir, ".", O_RDWR | O_CLOEXEC | O_TMPFILE, 0600), "O_TMPFILE");
    must(write(fd, content, (size_t)size), "write");
    look_at(fd);
    (void)!fgetxattr(old, "system.posix_acl_access", NULL, 0);
    (void)!fgetxattr(fd, "system.posix_acl_access", NULL, 0);
    must(flistxattr(old, NULL, 0), "flistxattr");
    must(fchmod(fd, 0644), "fchmod");
    look_at(fd);
    must(ioctl(old, FS_IOC_GETFLAGS, &flags), "FS_IOC_GETFLAGS");
    must(ioctl(fd, FS_IOC_GETFLAGS, &flags), "FS_IOC_GETFLAGS");
    must(fsync(fd), "fsync");
    look_at(fd);
    must(getrandom(&random, sizeof(random), 0), "getrandom");
    sprintf(neighbour, ".bare-%016llx.tmp", (unsigned long long)random);
    must(linkat(fd, "", dir, neighbour, AT_EMPTY_PATH), "linkat");
    int again = open_at(dir, neighbour, READ | O_NOFOLLOW, ALONE);
    look_at(again);
    close(fd);
    must(flock(again, LOCK_SH | LOCK_NB), "flock");
    return again;
}

static void replace(void)
{
    int flags;
    char neighbour[40];
    struct statfs fs;
    int dir = open_at(folder, ".", FOLDER, ALONE);
    look_at(dir);
    must(ioctl(dir, FS_IOC_GETFLAGS, &flags), "FS_IOC_GETFLAGS");
    must(fstatfs(dir, &fs), "fstatfs");
    look(dir, name);
    int old = open_at(dir, name, READ | O_NOFOLLOW, ALONE);
    must(flock(old, LOCK_EX | LOCK_NB), "flock");
    look_at(old);
    look(dir, name);
    off_t size = st.st_size;
    look_inside(old);
    read_blocks(old, size);
    int fresh = make(dir, old, size, neighbour);
    enter(old, size);
    look(dir, name);
    must(renameat2(dir, neighbour, dir, name, RENAME_EXCHANGE), "renameat2");
    look(dir, neighbour);
    look_inside(old);
    read_blocks(old, size);
    int there = open_at(folder, ".", FOLDER | O_PATH, ALONE);
    look_at(there);
    close(there);
    must(fsync(dir), "fsync");
    must(unlinkat(dir, neighbour, 0), "unlinkat");
    look_at(fresh);
    close(fresh);
    close(old);
    close(dir);
    enter_end();
}

/* ---- the loop and its thread --------------------------------------------------------------------- */

static sem_t asked;
static int done, notices;

static void *work(void *unused)
{
    uint64_t one = 1;
    for (;;) {
        sem_wait(&asked);
        replace();
        must(write(done, &one, sizeof(one)), "write");
    }
    return unused;
}

/* A notice about the file itself: is it still there? */
static void notice(void)
{
    static _Alignas(struct inotify_event) char events[16384];
    ssize_t n = must(read(notices, events, sizeof(events)), "inotify");
    for (ssize_t at = 0; at < n;) {
        struct inotify_event event;
        memcpy(&event, events + at, sizeof(event));
        if (event.len && strcmp(events + at + sizeof(event), name) == 0)
            close(open_served());
        at += (ssize_t)(sizeof(event) + event.len);
    }
}

static void run(void)
{
    char line[1 << 16];
    uint64_t count;
    const int fds[] = {0, notices, done};
    int loop = must(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[i]};
        must(epoll_ctl(loop, EPOLL_CTL_ADD, fds[i], &event), "epoll_ctl");
    }
    for (struct epoll_event event;;) {
        if (epoll_wait(loop, &event, 1, -1) != 1) /* a debugger was attached */
            continue;
        if (event.data.fd == notices) {
            notice();
        } else if (event.data.fd == done) {
            must(read(done, &count, sizeof(count)), "read");
            must(write(1, answer, sizeof(answer)), "write");
        } else {
            if (read(0, line, sizeof(line)) <= 0)
                return;
            ask();
            sem_post(&asked);
        }
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 4)
        return 2;
    folder_name = argv[1];
    name = argv[2];
    folder = must(open(folder_name, FOLDER), folder_name);
    journal = must(open(argv[3], FOLDER), argv[3]);
    close(must(openat(journal, "bare.journal", O_RDWR | O_CREAT | O_CLOEXEC, 0600), "openat"));
    journal_lock = must(openat(journal, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600), "openat");
    memset(answer, 'x', sizeof(answer));
    answer[sizeof(answer) - 1] = '\n';
    notices = must(inotify_init1(IN_CLOEXEC), "inotify_init1");
    must(inotify_add_watch(notices, folder_name, IN_CREATE | IN_DELETE | IN_MOVE | IN_CLOSE_WRITE),
         folder_name);
    done = must(eventfd(0, EFD_CLOEXEC), "eventfd");
    sem_init(&asked, 0, 0);
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 1;
    run();
    return 0;
}
