/* log_events.h - the MESSAGE_ID of each event of log_job(), by which journald finds its text in units/reeve.catalog (journalctl -x). */
#pragma once

/* 32 hexadecimal digits; NULL: the event has none. */
const char *log_event_id(const char *word);
