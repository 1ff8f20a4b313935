/* address.c: parses addresses such as "127.0.0.1:8642", "[::1]:0", "localhost:8642" and
 * "unix:/run/mcp.sock", listens on them, and describes the peers of connections.
 *
 * Names other than localhost are not resolved, because a name server must not decide where a server
 * listens.
 *
 * The mode of a Unix socket is set on its descriptor before bind() creates the file. So there is no
 * time at which other users could connect, and the umask of the process is not changed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mcp/sys/io.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/http_server/net.h"

enum { BACKLOG = 4096 };

typedef union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
} any_address;

/* ---- text ------------------------------------------------------------------------------------------ */

static bool parse_port(const char *text, uint16_t *ret)
{
    unsigned long value = 0;

    if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 5)
        return false;
    value = strtoul(text, NULL, 10);
    *ret = (uint16_t)value;
    return value <= UINT16_MAX;
}

/* Parses a numeric host without brackets. Returns its address family, or 0 if it is not numeric. */
static int numbers_of(const char *host, any_address *to)
{
    memset(to, 0, sizeof(*to));
    if (inet_pton(AF_INET, host, &to->v4.sin_addr) == 1)
        return to->any.sa_family = AF_INET;
    if (inet_pton(AF_INET6, host, &to->v6.sin6_addr) == 1)
        return to->any.sa_family = AF_INET6;
    return 0;
}

static void describe(mcp__address *a, const any_address *numbers)
{
    const struct in6_addr *v6 = &numbers->v6.sin6_addr;

    if (numbers->any.sa_family == AF_INET) {
        uint32_t v4 = ntohl(numbers->v4.sin_addr.s_addr);
        a->loopback = v4 >> 24 == 127;
        a->any = v4 == 0;
    } else {
        a->loopback = IN6_IS_ADDR_LOOPBACK(v6);
        a->any = IN6_IS_ADDR_UNSPECIFIED(v6);
    }
}

/* Splits "[::1]:80", "127.0.0.1:80" or ":80". Returns false if there is no port, or no closing
 * bracket. */
static bool split(const char *text, char *host, size_t room, const char **port)
{
    const char *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;

    if (!colon)
        return false;
    if (*text == '[') {
        if (len < 2 || text[len - 1] != ']')
            return false;
        text++;
        len -= 2;
    } else if (memchr(text, ':', len)) {
        return false;
    }
    if (len >= room)
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    *port = colon + 1;
    return true;
}

static int parse_unix(mcp__address *a, const char *path, mcp_error *error)
{
    struct sockaddr_un *local = NULL;

    if (!*path || strlen(path) >= sizeof(local->sun_path))
        return mcp__fail(error, MCP_EINVAL, 0, "unix:%s: a path has 1 to %zu bytes", path,
                         sizeof(local->sun_path) - 1);
    a->path = path;
    a->loopback = true;
    return MCP_OK;
}

int mcp__address_parse(mcp__address *a, const char *text, mcp_error *error)
{
    char host[46];
    const char *port = NULL;
    any_address numbers;

    *a = (mcp__address){0};
    if (strncmp(text, "unix:", 5) == 0)
        return parse_unix(a, text + 5, error);
    if (!split(text, host, sizeof(host), &port))
        goto bad;
    if (*text == ':' || strcmp(host, "localhost") == 0)
        memcpy(host, "127.0.0.1", sizeof("127.0.0.1"));
    int family = numbers_of(host, &numbers);
    if (!family || !parse_port(port, &a->port))
        goto bad;
    describe(a, &numbers);
    snprintf(a->host, sizeof(a->host), family == AF_INET6 ? "[%s]" : "%s", host);
    return MCP_OK;
bad:
    return mcp__fail(error, MCP_EINVAL, 0,
                     "'%.100s' is not an address: 127.0.0.1:8642, [::1]:8642 or unix:PATH", text);
}

/* ---- listening sockets ---------------------------------------------------------------------- */

static int failed(mcp_error *error, const char *what)
{
    int code = errno == EADDRINUSE                 ? MCP_EEXIST
               : errno == EACCES || errno == EPERM ? MCP_EACCESS
                                                   : MCP_EIO;

    return mcp__fail(error, code, 0, "%s: %s", what, strerror(errno));
}

/* Sets options, which accepted sockets inherit. TCP_NOTSENT_LOWAT keeps unsent output in the memory
 * of this process, where it is counted. Otherwise the kernel would buffer megabytes for each slow
 * peer. Data in flight is not limited, so no peer is slowed down. */
static void set_options(int fd)
{
    enum { UNSENT = 128 * 1024 };
    int on = 1, unsent = UNSENT;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

static int listen_inet(mcp__address *a, int fd, mcp_error *error)
{
    char host[64], text[80];
    any_address numbers;
    int off = 0;
    socklen_t len = sizeof(numbers);
    size_t bracket = a->host[0] == '[';

    snprintf(host, sizeof(host), "%.*s", (int)(strlen(a->host) - 2 * bracket), a->host + bracket);
    int family = numbers_of(host, &numbers);
    snprintf(text, sizeof(text), "%s:%u", a->host, a->port);
    numbers.v4.sin_port = htons(a->port); /* the port has the same offset in v6 */
    set_options(fd);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, &numbers.any, family == AF_INET ? sizeof(numbers.v4) : sizeof(numbers.v6)) < 0 ||
        listen(fd, BACKLOG) < 0 || getsockname(fd, &numbers.any, &len) < 0)
        return failed(error, text);
    a->port = ntohs(numbers.v4.sin_port);
    return MCP_OK;
}

/* Removes the file of a Unix socket on which no process listens. Fails if there is any other
 * file. */
static int remove_stale_socket(const struct sockaddr_un *local, mcp_error *error)
{
    struct stat st;

    if (lstat(local->sun_path, &st) < 0)
        return MCP_OK; /* bind() reports the error */
    if (!S_ISSOCK(st.st_mode))
        return mcp__fail(error, MCP_EEXIST, 0, "%s exists and is not a socket", local->sun_path);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return failed(error, local->sun_path);
    int refused = connect(probe, (const struct sockaddr *)local, sizeof(*local)) < 0 ? errno : 0;
    close(probe);
    if (refused != ECONNREFUSED)
        return mcp__fail(error, MCP_EEXIST, 0, "%s: another process listens there already",
                         local->sun_path);
    unlink(local->sun_path);
    return MCP_OK;
}

static int listen_unix(mcp__address *a, int fd, unsigned mode, mcp_error *error)
{
    any_address to = {.local = {.sun_family = AF_UNIX}};

    memcpy(to.local.sun_path, a->path, strlen(a->path) + 1);
    int rc = remove_stale_socket(&to.local, error);
    if (rc < 0)
        return rc;
    if (fchmod(fd, (mode_t)mode) < 0 || bind(fd, &to.any, sizeof(to.local)) < 0 ||
        chmod(a->path, (mode_t)mode) < 0 || listen(fd, BACKLOG) < 0)
        return failed(error, a->path);
    return MCP_OK;
}

int mcp__address_listen(mcp__address *a, unsigned mode, int *ret, mcp_error *error)
{
    int family = a->path ? AF_UNIX : a->host[0] == '[' ? AF_INET6 : AF_INET;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return failed(error, a->path ? a->path : a->host);
    int rc = a->path ? listen_unix(a, fd, mode, error) : listen_inet(a, fd, error);
    if (rc < 0)
        close(fd);
    else
        *ret = fd;
    return rc;
}

/* Returns whether the socket is bound to this address, and sets its port. */
static bool is_bound(mcp__address *a, int fd)
{
    any_address at = {0}, wanted;
    char host[64];
    socklen_t len = sizeof(at);

    if (getsockname(fd, &at.any, &len) < 0)
        return false;
    if (a->path)
        return at.any.sa_family == AF_UNIX && strcmp(at.local.sun_path, a->path) == 0;
    size_t bracket = a->host[0] == '[';
    snprintf(host, sizeof(host), "%.*s", (int)(strlen(a->host) - 2 * bracket), a->host + bracket);
    if (numbers_of(host, &wanted) != at.any.sa_family)
        return false;
    bool same = at.any.sa_family == AF_INET
                    ? at.v4.sin_addr.s_addr == wanted.v4.sin_addr.s_addr
                    : IN6_ARE_ADDR_EQUAL(&at.v6.sin6_addr, &wanted.v6.sin6_addr);
    uint16_t port = ntohs(at.v4.sin_port); /* has the same offset in v6 */
    if (!same || (a->port && a->port != port))
        return false;
    a->port = port;
    return true;
}

static bool is_listening(int fd)
{
    int type = 0, listens = 0;
    socklen_t len = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens;
}

int mcp__address_adopt(mcp__address *a, int fd, mcp_error *error)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || !is_listening(fd) || !is_bound(a, fd))
        return mcp__fail(error, MCP_EINVAL, 0, "descriptor %d does not listen at %s", fd,
                         a->path ? a->path : a->host);
    if (!a->path)
        set_options(fd);
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return failed(error, "an inherited socket");
    return MCP_OK;
}

int mcp_socket_listen(const char *address, unsigned mode, int *ret, mcp_error *error)
{
    mcp__no_error(error);
    mcp__address a;

    if (!address || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "an address and ret are needed");
    int rc = mcp__address_parse(&a, address, error);
    return rc == MCP_OK ? mcp__address_listen(&a, mode ? mode : 0600, ret, error) : rc;
}

bool mcp_socket_listens(int fd, const char *address)
{
    mcp__address a;

    return address && mcp__address_parse(&a, address, NULL) == MCP_OK && is_listening(fd) &&
           is_bound(&a, fd);
}

/* ---- peers ---------------------------------------------------------------------------------- */

static void describe_process(int fd, char *peer)
{
    struct ucred who = {0};
    socklen_t len = sizeof(who);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
        snprintf(peer, MCP__ADDRESS_TEXT, "unix:pid=%ld,uid=%lu", (long)who.pid,
                 (unsigned long)who.uid);
}

/* Writes the address to which limits apply. For IPv6, this is the /64 network, because a host
 * typically has all its 2^64 addresses. */
static void name_address(char *address, const char *host, const struct in6_addr *v6)
{
    char network[INET6_ADDRSTRLEN];
    struct in6_addr first;

    if (!v6 || IN6_IS_ADDR_LOOPBACK(v6)) {
        snprintf(address, MCP__ADDRESS_TEXT, "%s", host);
        return;
    }
    first = *v6;
    memset(&first.s6_addr[8], 0, 8);
    snprintf(address, MCP__ADDRESS_TEXT, "%s/64",
             inet_ntop(AF_INET6, &first, network, sizeof(network)));
}

void mcp__address_peer(int fd, char peer[MCP__ADDRESS_TEXT], char address[MCP__ADDRESS_TEXT])
{
    any_address from = {0};
    socklen_t len = sizeof(from);
    char host[INET6_ADDRSTRLEN] = "?";
    unsigned port;

    snprintf(peer, MCP__ADDRESS_TEXT, "?");
    snprintf(address, MCP__ADDRESS_TEXT, "?");
    if (getpeername(fd, &from.any, &len) < 0)
        return;
    if (from.any.sa_family == AF_UNIX) {
        snprintf(address, MCP__ADDRESS_TEXT, "unix");
        describe_process(fd, peer);
        return;
    }
    port = ntohs(from.v4.sin_port);
    const struct in6_addr *v6 = &from.v6.sin6_addr;
    bool is_v6 = from.any.sa_family == AF_INET6;
    if (is_v6 && IN6_IS_ADDR_V4MAPPED(v6)) {
        inet_ntop(AF_INET, &v6->s6_addr[12], host, sizeof(host));
        is_v6 = false;
    } else {
        inet_ntop(from.any.sa_family, is_v6 ? (const void *)v6 : &from.v4.sin_addr, host,
                  sizeof(host));
    }
    name_address(address, host, is_v6 ? v6 : NULL);
    snprintf(peer, MCP__ADDRESS_TEXT, is_v6 ? "[%s]:%u" : "%s:%u", host, port);
}
