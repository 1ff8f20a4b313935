/* doctor.h: a look at a set-up as somebody would who is asked for help (mcpd --doctor). */
#ifndef MCPD_DOCTOR_H
#define MCPD_DOCTOR_H

#include "offer.h"
#include "options.h"

/* Prints what it finds. 0; 1 where something does not work. */
int doctor_look(const settings *line, const settings *now, offer *o);

#endif
