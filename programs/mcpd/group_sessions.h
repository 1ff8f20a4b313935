/* group_sessions.h: how many sessions the members of each group have (mcp_group_sessions in /metrics). */
#ifndef MCPD_GROUP_SESSIONS_H
#define MCPD_GROUP_SESSIONS_H

#include "access.h"
#include "http.h"

/* Passes the family to add(): the sessions of all addresses, for each group that a rule or a rate of the configuration
 * names, and as "other" those of callers in none of them. Nothing is passed if no group is named. */
void group_sessions_metrics(const access_rules *rules, const listeners *at,
                            void (*add)(mcp_str text, void *arg), void *arg);

#endif
