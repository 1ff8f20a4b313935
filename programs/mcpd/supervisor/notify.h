/* notify.h: tells a service manager about the state of this process, in the protocol of systemd's
 * sd_notify(3): datagrams of lines NAME=VALUE to the socket that NOTIFY_SOCKET names.
 *
 * The protocol is small and stable, so libsystemd, a dependency of every installation, is not used.
 */
#ifndef MCPD_NOTIFY_H
#define MCPD_NOTIFY_H

#include <stdint.h>

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment, because
 * they do not concern the programs that this one starts. Without it, nothing is sent. */
void notify_open(void);
/* Sends lines, as printf() formats them. Does nothing without a service manager. Never blocks. */
void notify_send(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says that the configuration is reloaded; READY=1 has to follow. */
void notify_reloading(void);
/* Returns how often WATCHDOG=1 should be sent, in milliseconds, or 0 for never: half of the time
 * after which the service manager ends this process. */
uint64_t notify_watchdog_ms(void);

#endif
