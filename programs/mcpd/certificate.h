/* certificate.h: when the certificate of HTTPS expires, and who is told. */
#ifndef MCPD_CERTIFICATE_H
#define MCPD_CERTIFICATE_H

#include <mcp/io.h>

#include "http.h"

typedef enum certificate_state {
    CERTIFICATE_FINE = 0,
    CERTIFICATE_SOON, /* it expires within two weeks */
    CERTIFICATE_EXPIRED,
} certificate_state;

enum { CERTIFICATE_ROOM = 500 };

/* Says when a certificate expires: "PATH expires on 2026-12-24". `expires` is of
 * mcp_listener_tls_expiry(). */
certificate_state certificate_say(const char *path, int64_t expires, char to[CERTIFICATE_ROOM]);

/* Warns in the log, now and once a day, if the certificate has expired or will soon. */
typedef struct certificate_watch {
    const settings *s;
    const listeners *at;
    const mcp_host *host;
    mcp_host_timer *timer;
} certificate_watch;

void certificate_watch_start(certificate_watch *w);
void certificate_watch_stop(certificate_watch *w);
/* Warns once. */
void certificate_warn(const settings *s, const listeners *at);

#endif
