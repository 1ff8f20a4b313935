/* doctor.h: diagnoses a setup (mcpd --doctor).
 *
 * It opens everything that serving would open, tries the addresses, and queries the server for what
 * a host would see. It changes nothing and serves no clients.
 */
#ifndef MCPD_DOCTOR_H
#define MCPD_DOCTOR_H

#include <stdio.h>

#include "offer.h"
#include "options.h"

/* A function for config_read(). Adds an error of the file to the findings. */
void doctor_tell(const char *line);
/* Prints the findings. `configured` says whether there are valid settings. Returns 0, or 1 if
 * something does not work. */
int doctor_look(const settings *now, offer *o, bool configured);

/* ---- shared by the files doctor*.c ---- */

enum { FINDING_TEXT = 400 };

typedef enum finding { FINDING_OK = 0, FINDING_WARNING, FINDING_WRONG } finding;
void doctor_find(finding status, const char *about, const char *format, ...) MCP_PRINTF(3, 4);
/* Writes the findings of this process to another one, which adds them to its own. Returns false if they
 * were cut. */
void doctor_write(int fd);
bool doctor_read(FILE *from);
/* Forgets the findings so far, but not whether something was wrong. */
void doctor_forget(void);

/* Opens each source. */
void doctor_sources(const settings *now, offer *o);

/* Looks at the section oauth: fetches metadata and keys of each issuer. */
void doctor_oauth(const settings *now, config *c, mcp_loop *loop);

/* Says where each view is, and for which tokens. `c` may be NULL. */
void doctor_views(const settings *now, const config *c);

/* Lists what each principal would see: with `w`, or as text on stdout if `w` is NULL. */
int doctor_offer(const settings *now, offer *o, mcp_json_writer *w);

#endif
