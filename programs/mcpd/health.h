/* health.h: a health check of a server that runs already. */
#ifndef MCPD_HEALTH_H
#define MCPD_HEALTH_H

/* Sends a GET to a URL, and reports on stderr why it failed. Returns the exit status: 0 if the answer
 * has the status 200. */
int health_check(const char *url);

#endif
