/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moves - takes jobs from one state to another: changes its nodes' use and the list that it is in,
 * and adds the action to those of the pass. Results: 0, or -ENOMEM. */
#pragma once
#include "controller/scheduler/schedule.h"

struct job;

/* Is it neither blocked nor refused by the caller's limits? A refusal is noted for schedule_why(). */
bool move_may_start(struct schedule *s, struct job *j);
/* The parts that place_job() has just allocated become the job's. It stays in the list of queued
 * jobs until the pass ends. */
int move_start(struct schedule *s, int32_t job, int64_t now_s);
/* by: the job that gets the cores. */
int move_suspend(struct schedule *s, int32_t job, int32_t by, int64_t now_s);
int move_resume(struct schedule *s, int32_t job, int64_t now_s);
/* Withdraws a start of this very pass: the job is queued as if it had not been started, and
 * overdue from now on. */
int move_withdraw(struct schedule *s, int32_t job, int64_t now_s);

/* The lists of jobs by state. */
int move_list_running(struct schedule *s, int32_t job);
void move_unlist_running(struct schedule *s, int32_t job);
int move_list_suspended(struct schedule *s, int32_t job);
void move_unlist_suspended(struct schedule *s, int32_t job);
