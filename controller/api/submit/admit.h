/* admit - what quotas and limits say of a job that is handed in (quota.c). */
#pragma once
#include "controller/api/call.h"
#include "controller/ledger/usage/quota.h"
#include "controller/policy/charge/tariff.h"

struct admit_note {
	char text[STORE_QUOTA_NOTE_MAX]; /* "" where the job is taken as it was asked for */
};

/* To be asked when all else is right, before the job is kept. A job that no grant covers may be
 * moved to the queue that is free of charge: then q->queue and *p are those of that queue, and
 * the note says why. Refused: err, status and remedy are set. */
int admit_job(struct call *c, struct request *q, struct tariff_price *p, struct admit_note *ret,
	      struct err *err);
/* The same asked in advance, for the answer of a price: "quota" (taken, bonus, refused) and
 * "quota_note", where the request names an account of the caller's. Nothing is changed. */
int admit_foretell(struct call *c, const struct request *q, const struct tariff_price *p,
		   struct err *err);
/* Keeps the note, for who asks for the job later. The job is in: a note that cannot be kept is
 * no failure of the call, and is logged. */
void admit_keep(struct call *c, int64_t job, const struct admit_note *note);
/* Puts the note, if there is one, into the job's document as "quota_note". */
int admit_tell(struct call *c, int64_t job, json_t *doc, struct err *err);
