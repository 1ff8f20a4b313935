/* install.h: adds an entry to a host's configuration file (mcpd --install HOST). */
#ifndef MCPD_INSTALL_H
#define MCPD_INSTALL_H

#include "entry.h"

/* Shows the change and asks, unless `yes`; `file`: not the host's usual one. Keeps what is in the
 * file, and a copy of what it was beside it. 0; 1 after saying why not and printing what to put
 * there by hand; 2: nobody can be asked. */
int install_entry(const entry *e, const char *file, bool yes);

#endif
