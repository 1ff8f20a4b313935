/* rename.h: renameat2(), also where the C library does not have it: musl got it late, and the static programs contain
 * musl. Needs _GNU_SOURCE. */
#ifndef EDITING_RENAME_H
#define EDITING_RENAME_H

#include <linux/fs.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __GLIBC__
#define renameat2(from, name, to, other, flags) \
    ((int)syscall(SYS_renameat2, from, name, to, other, flags))
#endif

#endif
