/* confine.h: runs a program of others in the sandbox, `mcpd --run-confined`, which another mcpd starts. */
#ifndef MCPD_CONFINE_H
#define MCPD_CONFINE_H

/* Runs `mcpd --run-confined [--read PATH]... [--write PATH]... [--network] -- PROGRAM ARG...`. Does not
 * return if the program was started; otherwise returns the exit status after writing the reason to
 * stderr. */
int confine_run(int argc, char **argv);

#endif
