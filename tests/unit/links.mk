# SPDX-License-Identifier: GPL-2.0-or-later
# What each unit test links besides itself: its honest list of dependencies. One line a test.
DB := $O/common/db/db.o $O/common/db/db_sqlite.o
PG := $(patsubst %,$O/controller/postgres/%.o,dialect pg pg_fail pg_conn pg_filled pg_rows pg_stream pg_pipeline pg_array pg_asked pg_answers pg_copy pq)
MODEL := $O/common/err.o $(patsubst %,$O/common/model/%.o,amount resources features request array after mail select script usage job gpu_use gpus series/series)
WIRE  := $O/common/utf8.o $(patsubst %,$O/common/wire/%.o,wire json/load doc rows/rowpack fields sync sync_answer wire_usage wire_scan wire_request wire_report wire_gpu)
$O/tests/unit/test_utf8: $O/common/utf8.o
$O/tests/unit/test_amount: $O/common/model/amount.o $O/common/err.o
$O/tests/unit/test_request: $O/common/err.o $(patsubst %,$O/common/model/%.o,amount resources features request array after mail select script)
$O/tests/unit/test_request_options: $O/common/err.o $(patsubst %,$O/common/model/%.o,amount resources features request array after mail select script)
$O/tests/unit/test_script: $O/common/err.o $(patsubst %,$O/common/model/%.o,amount resources features request array after mail select script)
$O/tests/unit/test_empty_texts: $(MODEL)
$O/tests/unit/test_no_memory: tests/unit/rig/faults/fail_alloc.c $O/common/err.o $(patsubst %,$O/common/model/%.o,amount resources features request array after mail select script series/series)
$O/tests/unit/test_usage_sums: $O/common/model/usage.o
$O/tests/unit/test_job: $O/common/model/job.o $O/common/model/usage.o $O/common/model/amount.o $O/common/err.o
$O/tests/unit/test_wire: LDLIBS += -ljansson
$O/tests/unit/test_wire: $(MODEL) $(WIRE)
$O/tests/unit/test_load: LDLIBS += -ljansson
$O/tests/unit/test_load: tests/unit/rig/faults/fail_alloc.c $O/common/wire/json/load.o
$O/tests/unit/test_doc: LDLIBS += -ljansson
$O/tests/unit/test_doc: $(MODEL) $(WIRE)
$O/tests/unit/test_rowpack: $O/common/wire/rows/rowpack.o $O/common/utf8.o $O/common/err.o
$O/tests/unit/test_packed_rows: LDLIBS += -ljansson -lm
$O/tests/unit/test_packed_rows: $O/cli/views/packed_rows.o $(MODEL) $(WIRE)
$O/tests/unit/test_rowpack: LDLIBS += -lm
$O/tests/unit/test_decimal: $O/cli/output/decimal.o
$O/tests/unit/test_decimal: LDLIBS += -lm
$O/tests/unit/test_series: $O/common/model/series/series.o
$O/tests/unit/test_series_laws: $O/common/model/series/series.o
$O/tests/unit/test_series_sample: $O/agent/job/series/sample.o $O/common/model/series/series.o $O/common/model/usage.o
$O/tests/unit/test_charge: $O/controller/policy/charge/charge.o $O/common/err.o
$O/tests/unit/test_fit: $(patsubst %,$O/controller/policy/placement/%.o,fit fit_chunks) $(patsubst %,$O/common/model/%.o,gpus amount resources features select) $O/common/err.o
$O/tests/unit/test_admit: $O/agent/admit/admit.o $(patsubst %,$O/common/model/%.o,gpus amount resources features) $O/common/err.o
$O/tests/unit/test_metrics_request: $O/agent/metrics/request.o
$O/tests/unit/test_metrics_page: $(patsubst %,$O/agent/metrics/%.o,page address) $(patsubst %,$O/common/%.o,metrics err model/job model/gpu_use model/usage model/amount)
$O/tests/unit/test_stray_rule: $O/agent/stray/rule.o
$O/tests/unit/test_pids: $O/agent/admit/pids.o $(patsubst %,$O/common/model/%.o,gpus amount resources features) $O/common/err.o $O/agent/admit/admit.o
$O/tests/unit/test_jobfs_unlimited: LDLIBS += -lsystemd
$O/tests/unit/test_jobfs_unlimited: $(patsubst %,$O/agent/enforce/jobfs/%.o,jobfs create dir held image quota remove remover wipe wipe_job) $O/common/quotactl/quotactl.o $O/common/err.o
$O/tests/unit/test_place: $O/agent/admit/place.o $O/agent/admit/cpulist.o $O/common/err.o
$O/tests/unit/test_place_choice: $O/agent/admit/place.o $O/agent/admit/cpulist.o $O/common/err.o
$O/tests/unit/test_topology: LDLIBS += -lhwloc
$O/tests/unit/test_topology: $O/agent/enforce/topology.o $O/agent/admit/place.o $O/agent/admit/cpulist.o $O/common/err.o
$O/tests/unit/test_conf: $(patsubst %,$O/common/%.o,conf/conf conf/value nearest err model/amount model/resources model/features model/request model/array model/after model/select model/mail)
$O/tests/unit/test_change: $(patsubst %,$O/common/%.o,conf/change conf/conf conf/value nearest err model/amount model/resources model/features model/request model/array model/after model/select model/mail)
$O/tests/unit/test_agent_config: LDLIBS += -lmunge -lnettle
$O/tests/unit/test_agent_config: $(patsubst %,$O/agent/%.o,config users metrics/address) $O/common/auth/auth.o $(patsubst %,$O/common/%.o,conf/change conf/conf conf/value nearest err model/amount model/resources model/features model/request model/array model/after model/select model/mail)
$O/tests/unit/test_verb: $(patsubst %,$O/common/%.o,verb/verb verb/verb_help nearest err)
$O/tests/unit/test_table: LDLIBS += -ljansson -lsmartcols
$O/tests/unit/test_table: $(patsubst %,$O/cli/output/%.o,decimal table table_print table_render table_plain table_programs text) $O/common/csv/csv_write.o $O/common/nearest.o $O/common/model/job.o $(MODEL) $(WIRE)
$O/tests/unit/test_top: LDLIBS += -ljansson -lsmartcols
$O/tests/unit/test_top: $(patsubst %,$O/cli/top/%.o,$(addprefix draw/,line bar columns layout help) $(addprefix views/,rates view subjects sums cluster node_rows node job_rows job) ui once) $(patsubst %,$O/cli/output/%.o,decimal table table_print table_render table_plain table_programs text) $(patsubst %,$O/cli/views/%.o,job_view job_parts) $O/cli/answer_text.o $O/common/csv/csv_write.o $O/common/nearest.o $(MODEL) $(WIRE)
$O/tests/unit/test_advice: $O/controller/policy/efficiency/advice.o $(MODEL)
$O/tests/unit/test_state: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_state: $(MODEL) $(WIRE) $(DB) $O/agent/admit/cpulist.o $(patsubst %,$O/agent/report/%.o,store packed state)
$O/tests/unit/test_spool: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_spool: tests/unit/rig/fail_vfs.c $(MODEL) $(WIRE) $(DB) $(patsubst %,$O/agent/report/%.o,store packed state sent unsaved former spool sync) $O/agent/admit/cpulist.o
$O/tests/unit/test_former: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_former: $(MODEL) $(WIRE) $(DB) $(patsubst %,$O/agent/report/%.o,store packed state sent unsaved former spool) $O/agent/admit/cpulist.o
$O/tests/unit/test_uplink: LDLIBS += -lpq -lsqlite3 -ljansson -lsystemd
$O/tests/unit/test_uplink: $(MODEL) $(WIRE) $(DB) $(patsubst %,$O/agent/report/%.o,store packed state sent unsaved former spool sync uplink) $O/agent/admit/cpulist.o $O/common/log.o
JOBFS := $(patsubst %,$O/agent/enforce/jobfs/%.o,jobfs create dir held image quota remove remover wipe wipe_job) $O/common/quotactl/quotactl.o $O/common/err.o
$O/tests/node/jobfs/limits $O/tests/node/jobfs/removal: $O/tests/node/jobfs/%: tests/node/jobfs/%.c tests/node/jobfs/rig.c $(JOBFS)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka -lsystemd
LEDGER := $(PG) $(patsubst %,$O/controller/ledger/%.o,schema open identity restored archive/find jobs/jobs nodes/given/given nodes/given/given_list nodes/given/given_kept nodes/heard nodes/in_use attempts/part attempts/multinode attempts/ingest/ingest attempts/ingest/ingest_list attempts/ingest/ingest_others attempts/ingest/ingest_reports attempts/report attempts/report_rows attempts/known attempts/walltime attempts/charge attempts/bound/elapsed attempts/bound/clock_step attempts/suspended attempts/loss nodes/sync_number attempts/days attempts/series jobs/output jobs/bound jobs/views nodes/nodes nodes/kept nodes/record usage/queue_waits usage/usage usage/rollup/rollup_set usage/rollup/rollup_write usage/rollup/rollup_collect usage/rollup/rollup_find usage/rollup/rollup usage/totals/totals usage/totals/top usage/ranks/name_set usage/ranks/packed usage/ranks/cover usage/ranks/parts usage/ranks/ranks calendar usage/charges usage/terms jobs/waiting changes usage/adjust attempts/gpus jobs/submit jobs/slurm attempts/slurm slurm/counted slurm/rows slurm/notes jobs/credential jobs/array jobs/array_end jobs/depend jobs/hold steps/steps steps/steps_output steps/steps_place jobs/texts) \
	$(patsubst %,$O/controller/%.o,policy/charge/charge policy/efficiency/waits policy/efficiency/capacity policy/charge/tally policy/charge/tariff policy/placement/fit ledger/jobs/ranges policy/priority/depend) $(DB) $(MODEL) $(WIRE)
$O/tests/unit/test_ingest_memory: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_ingest_memory: tests/unit/rig/ledger_rig.c tests/unit/rig/faults/fail_alloc.c $(LEDGER)
$O/tests/unit/test_ledger: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_ledger: tests/unit/rig/ledger_rig.c tests/unit/rig/fail_vfs.c $(LEDGER)
$O/tests/unit/test_clock: $O/agent/enforce/clock.o
$O/tests/unit/test_final: $O/agent/enforce/final.o $O/common/model/usage.o $O/common/err.o
$O/tests/unit/test_job_gpus_env: $O/agent/job/gpus/env.o
$O/tests/unit/test_plan: $(patsubst %,$O/agent/%.o,job/handshake/plan job/handshake/env job/handshake/hosts job/gpus/env launch/plan) $(MODEL)
$O/tests/unit/test_launch: $(patsubst %,$O/agent/%.o,job/handshake/plan job/handshake/env job/handshake/hosts job/gpus/env launch/plan launch/launch launch/files launch/seccomp) $(MODEL)
$O/tests/unit/test_job_env: $(patsubst %,$O/agent/job/%.o,handshake/env handshake/hosts gpus/env) $(MODEL)
$O/tests/unit/test_db: LDLIBS += -lpq -lsqlite3
$O/tests/unit/test_db: tests/unit/rig/fail_vfs.c $(DB) $O/common/err.o
$O/tests/unit/test_clone_into: $O/common/process/clone_into.o
$O/tests/unit/test_private: $O/common/private.o $O/common/err.o
$O/tests/unit/test_mail: $(patsubst %,$O/common/%.o,model/mail err)
$O/tests/unit/test_replace_file: $O/common/replace_file.o $O/common/err.o
$O/tests/unit/test_auth: LDLIBS += -lmunge -lnettle
$O/tests/unit/test_auth: $O/common/auth/auth.o $O/common/err.o
$O/tests/unit/test_inflate: LDLIBS += -lz
$O/tests/unit/test_channel: LDLIBS += -lgnutls -lsystemd
$O/tests/unit/test_channel: $(patsubst %,$O/controller/http/%.o,channel certificate) $(patsubst %,$O/common/%.o,err private utf8 stops/stops log)
$O/tests/unit/test_resolve: LDLIBS += -lsystemd
$O/tests/unit/test_resolve: $O/common/http/resolve.o $O/common/err.o
$O/tests/unit/test_http_loop: LDLIBS += -ljansson -lsystemd -lz
$O/tests/unit/test_http_loop: $(MODEL) $(WIRE) $(patsubst %,$O/common/http/%.o,buffer curl exchange http http_loop plain plain_call plain_loop resolve response transfer)
$O/tests/unit/test_response: $(patsubst %,$O/common/http/%.o,response buffer)
$O/tests/unit/test_peers: $O/controller/http/peers.o
$O/tests/unit/test_long_poll: LDLIBS += -lsystemd
$O/tests/unit/test_long_poll: $O/controller/http/long_poll.o $(patsubst %,$O/common/%.o,err stops/stops log)
$O/tests/unit/test_inflate: $O/controller/http/inflate.o $O/common/err.o
CONFIG := $(patsubst %,$O/controller/config/%.o,config objects lookup ordering certificate hooks token keys profiles setting units values places consistency tariff profile) \
	$(patsubst %,$O/controller/policy/charge/%.o,charge tariff) $(patsubst %,$O/common/%.o,token private conf/conf conf/value nearest err model/amount model/resources model/features model/request model/array model/after model/select model/mail)
$O/tests/unit/test_controller_config $O/tests/unit/test_ordering: $(CONFIG)
$O/tests/unit/test_config_reload: $O/controller/config/reload.o $O/common/conf/change.o $(CONFIG)
$O/tests/unit/test_routes: LDLIBS += -ljansson
$O/tests/unit/test_routes: $O/controller/api/routes.o
$O/tests/unit/test_csv: $(patsubst %,$O/common/%.o,csv/csv nearest err)
$O/tests/unit/test_charge_tally: $(patsubst %,$O/controller/policy/charge/%.o,tally charge) $O/common/err.o
$O/tests/unit/test_shares: $O/controller/policy/fairshare/shares.o $O/common/model/amount.o $O/common/err.o
$O/tests/unit/test_tariff: $(patsubst %,$O/controller/policy/charge/%.o,tariff charge) $O/common/model/amount.o $O/common/err.o
$O/tests/unit/test_window: $O/controller/policy/quota/window.o $O/common/err.o
$O/tests/unit/test_grant: $(patsubst %,$O/controller/policy/%.o,quota/grant charge/charge) $O/common/err.o
$O/tests/unit/test_target: $(patsubst %,$O/controller/policy/%.o,quota/target quota/outage charge/charge) $O/common/err.o
$O/tests/unit/test_outage: $O/controller/policy/quota/outage.o
$O/tests/unit/test_outages: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_outages: tests/unit/rig/ledger_rig.c $(LEDGER) $O/controller/ledger/usage/outages.o
$O/tests/unit/test_decay: LDLIBS += -lm
$O/tests/unit/test_decay: $(patsubst %,$O/controller/policy/%.o,fairshare/decay charge/charge) $O/common/err.o
$O/tests/unit/test_priority: LDLIBS += -lm
$O/tests/unit/test_priority: $O/controller/policy/priority/priority.o
$O/tests/unit/test_policy_memory: LDLIBS += -lm
$O/tests/unit/test_policy_memory: tests/unit/rig/faults/fail_alloc.c $(patsubst %,$O/controller/policy/fairshare/%.o,fairshare level fair_tree classic) $(patsubst %,$O/controller/policy/placement/%.o,fit fit_chunks) $(patsubst %,$O/common/model/%.o,gpus amount resources features select) $O/common/err.o
$O/tests/unit/test_fairshare_level: LDLIBS += -lm
$O/tests/unit/test_fairshare_level: $(patsubst %,$O/controller/policy/fairshare/%.o,fairshare level) $O/common/err.o
$O/tests/unit/test_fairshare: LDLIBS += -lm
$O/tests/unit/test_fairshare: $(patsubst %,$O/controller/policy/fairshare/%.o,fairshare level fair_tree classic) $O/common/err.o
$O/tests/unit/test_history: $O/controller/history/history.o $(MODEL)
$O/tests/unit/test_swf: $(patsubst %,$O/controller/history/%.o,history swf) $(MODEL)
$O/tests/unit/test_sacct: $(patsubst %,$O/controller/history/%.o,history sacct sacct_row) $(MODEL)
$O/tests/unit/test_sacct_heading: $(patsubst %,$O/controller/history/%.o,history sacct sacct_row) $(MODEL)
$O/tests/unit/test_pbs: $(patsubst %,$O/controller/history/%.o,history pbs pbs_id pbs_phases pbs_resources) $(MODEL)
$O/tests/unit/test_form: $(patsubst %,$O/controller/history/%.o,form history pbs pbs_id pbs_resources sacct sacct_row swf) $(MODEL)
$O/tests/unit/test_pbs_resources: $(patsubst %,$O/controller/history/%.o,history pbs_resources) $(MODEL)
$O/tests/unit/test_import: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_import: tests/unit/rig/ledger_rig.c $(LEDGER) $(patsubst %,$O/controller/ledger/%.o,import/import import/import_batch import/followed verify/verify verify/verify_totals verify/verify_parts) $O/controller/history/history.o
$O/tests/unit/test_calendar: $O/controller/ledger/calendar.o $O/common/err.o
ACCOUNTS := $(patsubst %,$O/controller/accounts/%.o,keys values check template build read rows diff) $O/controller/policy/charge/charge.o $O/controller/policy/fairshare/shares.o \
	$(patsubst %,$O/common/%.o,conf/conf conf/value nearest err model/amount model/resources model/features model/request model/array model/after model/select model/mail)
$O/tests/unit/test_accounts $O/tests/unit/test_per_share: $O/controller/accounts/accounts.o $(ACCOUNTS)
$O/tests/unit/test_accounts_edit: $O/cli/admin/accounts_edit.o $O/controller/accounts/accounts.o $(ACCOUNTS)
$O/tests/unit/test_sacctmgr_plan: $O/common/utf8.o $(patsubst %,$O/controller/accounts/foreign/%.o,draft draft_finish draft_qos sacctmgr sacctmgr_options sacctmgr_plan) $O/controller/accounts/accounts.o $(ACCOUNTS)
$O/tests/unit/test_accounts_import: $O/common/utf8.o $(patsubst %,$O/controller/accounts/foreign/%.o,draft draft_finish draft_qos sacctmgr sacctmgr_options sacctmgr_write csv) $O/common/csv/csv.o $O/controller/accounts/accounts.o $(ACCOUNTS)
$O/tests/unit/test_store_accounts: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_store_accounts: tests/unit/rig/ledger_rig.c tests/unit/rig/fail_vfs.c $O/controller/ledger/accounts/accounts.o $O/controller/accounts/accounts.o $(sort $(ACCOUNTS) $(LEDGER))
$O/tests/unit/test_eligible: $O/controller/policy/quota/eligible.o
$O/tests/unit/ledger_rig.o $(UNIT): ALLFLAGS += $(shell pkg-config --cflags libpq)
$O/tests/unit/test_adjust: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_adjust: tests/unit/rig/ledger_rig.c $(LEDGER) $(patsubst %,$O/controller/ledger/%.o,usage/adjust import/import import/import_batch import/followed verify/verify verify/verify_totals verify/verify_parts) $O/controller/history/history.o
$O/tests/unit/test_dialect: $O/controller/postgres/dialect.o
QUOTA := $(patsubst %,$O/controller/quota/%.o,quota outages words encode check expected qos scopes eligibility) $O/controller/ledger/usage/quota.o $O/controller/ledger/usage/outages.o \
	$(patsubst %,$O/controller/policy/quota/%.o,window grant target outage eligible) $O/controller/accounts/accounts.o
$O/tests/unit/test_expected: $(patsubst %,$O/%.o,controller/quota/expected controller/policy/charge/charge common/err)
$O/tests/unit/test_quota_qos: $O/controller/quota/qos.o $O/controller/accounts/accounts.o $(sort $(CONFIG) $(ACCOUNTS))
$O/tests/unit/test_quota $O/tests/unit/test_quota_check $O/tests/unit/test_job_bounds: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_quota $O/tests/unit/test_quota_check $O/tests/unit/test_job_bounds: tests/unit/rig/ledger_rig.c tests/unit/rig/quota_rig.c $(QUOTA) $(sort $(LEDGER) $(CONFIG) $(ACCOUNTS))
$O/tests/unit/test_projection: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_projection: tests/unit/rig/ledger_rig.c tests/unit/rig/quota_rig.c $(patsubst %,$O/controller/quota/projection/%.o,projection pace rows order top words encode) $(QUOTA) $(sort $(LEDGER) $(CONFIG) $(ACCOUNTS))
$O/tests/unit/test_days: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_days: tests/unit/rig/ledger_rig.c $(LEDGER) $O/controller/ledger/verify/verify.o $O/controller/ledger/verify/verify_totals.o $O/controller/ledger/verify/rebuild.o $O/controller/ledger/verify/verify_parts.o
$O/tests/unit/test_eff: $(patsubst %,$O/controller/policy/%.o,efficiency/eff efficiency/advice charge/charge placement/fit) $(MODEL)
SCHEDULE := $(patsubst %,$O/controller/scheduler/%.o,backfill edit future moves nodes place preempt/preempt preempt/preemptees preempt/room preempt/score preempt/shuffle preempt/tally reservation same schedule shapes why)
CYCLE := $(SCHEDULE) $(patsubst %,$O/controller/dispatch/%.o,cluster/cluster cluster/check cluster/jobs cluster/kinds cluster/placed carry_out cycle forecast needs pending_start names order parts queued why) $O/controller/policy/placement/fit_chunks.o $O/controller/ledger/nodes/allocated.o $O/controller/ledger/nodes/drain.o $O/controller/http/workers.o $O/common/stops/stops.o $O/common/log.o
$O/tests/unit/test_order $O/tests/unit/test_kept $O/tests/unit/test_quota_queue $O/tests/unit/test_plans $O/tests/unit/test_forecast: LDLIBS += -lsystemd
SHARETREE := $(patsubst %,$O/controller/sharetree/%.o,sharetree tree/tree tree/entries tree/rows rank) \
	$(patsubst %,$O/controller/policy/%.o,fairshare/fairshare fairshare/level fairshare/fair_tree fairshare/classic fairshare/decay priority/priority)
$O/tests/unit/test_stand: LDLIBS += -lm
$O/tests/unit/test_stand: $O/controller/sharetree/stand.o $(CONFIG)
$O/tests/unit/test_sharetree $O/tests/unit/test_sharetree_ledger $O/tests/unit/test_order $O/tests/unit/test_kept: LDLIBS += -lpq -lsqlite3 -ljansson -lm
$O/tests/unit/test_order $O/tests/unit/test_kept: tests/unit/rig/order_rig.c $(CYCLE) $(filter-out $(LEDGER) $(CONFIG) $(ACCOUNTS) $(SHARETREE),$(QUOTA))
$O/tests/unit/test_sharetree $O/tests/unit/test_sharetree_ledger $O/tests/unit/test_order $O/tests/unit/test_kept: tests/unit/rig/sharetree_rig.c tests/unit/rig/ledger_rig.c $(SHARETREE) $O/controller/accounts/accounts.o $(sort $(LEDGER) $(CONFIG) $(ACCOUNTS))
$O/tests/unit/test_forecast $O/tests/unit/test_quota_queue: LDLIBS += -lpq -lsqlite3 -ljansson -lm
$O/tests/unit/test_quota_queue: tests/unit/rig/ledger_rig.c tests/unit/rig/quota_rig.c $(CYCLE) $(sort $(QUOTA) $(SHARETREE) $(LEDGER) $(CONFIG) $(ACCOUNTS))
$O/tests/unit/test_forecast: $(CYCLE) $(sort $(QUOTA) $(SHARETREE) $(LEDGER) $(CONFIG) $(ACCOUNTS))
$O/tests/unit/test_ranks: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_ranks: tests/unit/rig/ledger_rig.c $O/controller/ledger/usage/day_sums.o $(LEDGER)
$O/tests/unit/test_usage: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_usage: tests/unit/rig/ledger_rig.c $(LEDGER) $O/controller/ledger/import/import.o $O/controller/ledger/import/import_batch.o $O/controller/ledger/import/followed.o $O/controller/history/history.o
$O/tests/unit/test_quota: $O/controller/ledger/usage/adjust.o
$O/tests/unit/test_gpus: $(patsubst %,$O/common/model/%.o,gpus gpu_use usage amount resources features) $O/common/err.o
$O/tests/unit/test_price $O/tests/unit/test_sync_gpus: LDLIBS += -ljansson
$O/tests/unit/test_price: $(sort $O/controller/pricing/price.o $O/controller/policy/placement/fit.o $(CONFIG) $(MODEL) $(WIRE))
$O/tests/unit/test_sync_gpus: $(MODEL) $(WIRE)
$O/tests/unit/test_sync: LDLIBS += -ljansson
$O/tests/unit/test_sync: $(MODEL) $(WIRE)
$O/tests/unit/test_sync_request: LDLIBS += -ljansson -lsystemd
$O/tests/unit/test_sync_request: $O/controller/api/sync/request.o $O/common/log.o $(MODEL) $(WIRE)
$O/tests/unit/test_store_gpus: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_store_gpus: tests/unit/rig/ledger_rig.c $(LEDGER)
$O/tests/unit/test_exchanges: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_exchanges: tests/unit/rig/ledger_rig.c $(LEDGER)
$O/tests/unit/test_store_hooks: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_store_hooks: tests/unit/rig/ledger_rig.c $(LEDGER) $O/controller/ledger/hooks.o
$O/tests/unit/test_listing: $O/storage/listing.o $O/storage/names.o $O/common/err.o
$O/tests/unit/test_storage: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_storage: tests/unit/rig/ledger_rig.c $(LEDGER) $O/controller/ledger/usage/storage.o
$O/tests/unit/test_array: $(patsubst %,$O/common/model/%.o,array after) $O/common/err.o
$O/tests/unit/test_console_relay: LDLIBS += -ljansson -lnettle
$O/tests/unit/test_console_relay: $O/common/wire/console/console_relay.o $(MODEL) $(WIRE)
$O/tests/unit/test_packets: $O/common/packets/packets.o
$O/tests/unit/test_seal: LDLIBS += -lnettle
$O/tests/unit/test_seal: $O/common/seal/seal.o
$O/tests/unit/test_step_session: LDLIBS += -lnettle
$O/tests/unit/test_step_session: $O/agent/launch/step/session.o $O/common/seal/seal.o $O/common/model/console/console.o $O/common/err.o
$O/tests/unit/test_console: $O/common/model/console/console.o $O/common/err.o
$O/tests/unit/test_console_table: $O/controller/api/console/console_table.o $O/common/model/console/console.o $O/common/err.o
$O/tests/unit/test_escape: $O/cli/client/session/escape.o
$O/tests/unit/test_schedule: LDLIBS += -lm
$O/tests/unit/test_schedule: $(SCHEDULE)
$O/tests/unit/test_schedule_memory: LDLIBS += -lm
$O/tests/unit/test_schedule_memory: tests/unit/rig/faults/fail_alloc.c $(SCHEDULE)
$O/tests/unit/test_shapes: LDLIBS += -lm
$O/tests/unit/test_shapes: $(SCHEDULE)
$O/tests/unit/test_nodes: LDLIBS += -lm
$O/tests/unit/test_nodes: $(SCHEDULE)
$O/tests/unit/test_schedule_limits: LDLIBS += -lm
$O/tests/unit/test_schedule_limits: $(SCHEDULE)
$O/tests/unit/test_reservation: LDLIBS += -lm
$O/tests/unit/test_reservation: $(SCHEDULE)
$O/tests/unit/test_room: LDLIBS += -lm
$O/tests/unit/test_room: $(SCHEDULE)
$O/tests/unit/test_schedule_laws: LDLIBS += -lm
$O/tests/unit/test_schedule_laws: $(SCHEDULE)
$O/tests/unit/test_queue_tree: $O/controller/simulate/pool/queue_tree.o
$O/tests/unit/test_running_set: $O/controller/simulate/pool/running_set.o
$O/tests/unit/test_easy: $(patsubst %,$O/controller/simulate/pool/%.o,easy fcfs queue_tree running_set)
$O/tests/unit/test_sim_memory: LDLIBS += -lm
$O/tests/unit/test_sim_memory: tests/unit/rig/faults/fail_alloc.c $(patsubst %,$O/controller/simulate/%.o,baseline ends fairness grants limits names profile replay summary trace usage pool/easy pool/fcfs pool/queue_tree pool/running_set) $(patsubst %,$O/controller/history/%.o,history swf) \
	$(sort $(SCHEDULE) $(patsubst %,$O/controller/policy/%.o,quota/eligible quota/grant priority/priority fairshare/fairshare fairshare/level fairshare/fair_tree fairshare/classic fairshare/decay charge/charge) $(MODEL))
$O/tests/unit/test_summary: LDLIBS += -lm
$O/tests/unit/test_summary: $(patsubst %,$O/controller/simulate/%.o,summary fairness)
$O/tests/unit/test_fairness: LDLIBS += -lm
$O/tests/unit/test_fairness: $O/controller/simulate/fairness.o
$O/tests/unit/test_trace: $(patsubst %,$O/controller/simulate/%.o,trace names) $(patsubst %,$O/controller/history/%.o,history swf) $(MODEL)
$O/tests/unit/test_baseline: $(patsubst %,$O/controller/simulate/%.o,baseline pool/easy pool/fcfs pool/queue_tree pool/running_set)
$O/tests/unit/test_names: $O/controller/simulate/names.o
$O/tests/unit/test_sim_limits: $O/controller/simulate/limits.o $O/controller/policy/quota/eligible.o
$O/tests/unit/test_simulate: LDLIBS += -lm
$O/tests/unit/test_simulate: $(patsubst %,$O/controller/simulate/%.o,ends fairness names replay summary trace) $(patsubst %,$O/controller/history/%.o,history swf) $(MODEL)
$O/tests/unit/test_sim_qos: LDLIBS += -lm
$O/tests/unit/test_sim_qos: $(patsubst %,$O/controller/simulate/%.o,ends fairness grants limits names profile replay trace usage) $(patsubst %,$O/controller/history/%.o,history swf) \
	$(sort $(SCHEDULE) $(patsubst %,$O/controller/policy/%.o,quota/eligible quota/grant priority/priority fairshare/fairshare fairshare/level fairshare/fair_tree fairshare/classic fairshare/decay charge/charge) $(MODEL))
$O/tests/unit/test_ranges: $O/controller/ledger/jobs/ranges.o
$O/tests/unit/test_depend: $O/controller/policy/priority/depend.o $(MODEL)
$O/tests/unit/test_expand $O/tests/unit/test_submission $O/tests/unit/test_holds: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_expand $O/tests/unit/test_submission $O/tests/unit/test_holds: tests/unit/rig/ledger_rig.c $(LEDGER)
$O/tests/unit/test_features: $(patsubst %,$O/common/model/%.o,amount resources features) $O/common/err.o
$O/tests/unit/test_slurm: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_slurm: tests/unit/rig/slurm_rig.c tests/unit/rig/ledger_rig.c $(LEDGER) $(patsubst %,$O/controller/ledger/%.o,nodes/lost usage/eff usage/eff_sums usage/eff_encode import/imported) $(patsubst %,$O/controller/policy/efficiency/%.o,eff advice) $O/controller/history/history.o
$O/tests/unit/test_lost $O/tests/unit/test_segments: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_lost $O/tests/unit/test_segments: tests/unit/rig/ledger_rig.c $(LEDGER) $O/controller/ledger/nodes/lost.o
$O/tests/unit/test_hooks_events: $O/controller/hooks/hooks_events.o
$O/tests/unit/test_fit_chunks: LDLIBS += -lm
$O/tests/unit/test_fit_chunks: $(SCHEDULE) $(patsubst %,$O/controller/policy/placement/%.o,fit fit_chunks) $(patsubst %,$O/common/model/%.o,gpus amount resources features select) $O/common/err.o
$O/tests/unit/test_queue_parts: $O/controller/dispatch/parts.o $(patsubst %,$O/common/model/%.o,select amount resources features) $O/common/err.o
$O/tests/unit/test_kinds: $O/controller/dispatch/cluster/kinds.o $O/controller/policy/placement/fit.o $(patsubst %,$O/common/model/%.o,gpus amount resources features) $O/common/err.o
$O/tests/unit/test_sim_grants: $O/controller/simulate/grants.o $(patsubst %,$O/controller/policy/%.o,quota/grant charge/charge) $O/common/err.o
$O/tests/unit/test_sim_usage: LDLIBS += -lm
$O/tests/unit/test_sim_usage: $O/controller/simulate/usage.o $(patsubst %,$O/controller/policy/%.o,fairshare/fairshare fairshare/level fairshare/fair_tree fairshare/classic fairshare/decay charge/charge) $O/common/err.o
$O/tests/unit/test_lead: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_lead: $(LEDGER) $O/controller/ledger/lead.o $O/controller/postgres/pg_lead.o
$O/tests/unit/test_downgrade: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_downgrade: tests/unit/rig/ledger_rig.c $(LEDGER) $O/controller/ledger/downgrade.o $O/controller/ledger/lead.o $O/controller/postgres/pg_lead.o
$O/tests/unit/test_schedule_work: LDLIBS += -lm
$O/tests/unit/test_schedule_work: $(SCHEDULE)
$O/tests/unit/test_schedule_load: LDLIBS += -lm
$O/tests/unit/test_schedule_load: $(SCHEDULE)
$O/tests/unit/test_round_robin: $O/controller/api/submit/round_robin.o
$O/tests/unit/test_select: LDLIBS += -ljansson
$O/tests/unit/test_select: $(MODEL) $(WIRE)
$O/tests/unit/test_sync_steps: LDLIBS += -ljansson
$O/tests/unit/test_sync_steps: $(MODEL) $(WIRE)
$O/tests/unit/test_step: LDLIBS += -lsystemd
$O/tests/unit/test_step: $O/agent/step/step.o $O/common/utf8.o $O/common/err.o
VIEWS_RIG := tests/unit/rig/views/views_rig.c $O/agent/enforce/manager/view.o $(patsubst %,$O/common/views/%.o,datagram views)
$O/tests/unit/test_step_launch: $(patsubst %,$O/agent/%.o,job/handshake/plan job/handshake/env job/handshake/hosts job/gpus/env launch/plan) $(VIEWS_RIG) $(MODEL)
$O/tests/unit/test_step_launch: | $O/bin/reeve-launch
$O/tests/unit/test_become_user: $O/agent/launch/become_user.o $O/common/err.o
$O/tests/unit/test_views: $(VIEWS_RIG) $O/common/err.o
$O/tests/unit/test_views: | $O/bin/reeve-launch
$O/tests/unit/test_store_steps: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_store_steps: tests/unit/rig/ledger_rig.c $(LEDGER) $O/controller/ledger/nodes/lost.o
$O/tests/unit/test_parts_end: tests/unit/rig/fail_vfs.c
$O/tests/unit/test_suspended $O/tests/unit/test_start_by $O/tests/unit/test_elapsed $O/tests/unit/test_parts $O/tests/unit/test_parts_end $O/tests/unit/test_given $O/tests/unit/test_whole_nodes: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_suspended $O/tests/unit/test_start_by $O/tests/unit/test_elapsed $O/tests/unit/test_parts $O/tests/unit/test_parts_end $O/tests/unit/test_given $O/tests/unit/test_whole_nodes: tests/unit/rig/ledger_rig.c tests/unit/rig/parts_rig.c $(LEDGER) $(patsubst %,$O/controller/ledger/%.o,nodes/allocated nodes/lost verify/verify verify/verify_totals verify/verify_parts)
$O/tests/unit/test_plans: LDLIBS += -lpq -lsqlite3 -ljansson -lm
$O/tests/unit/test_plans: $O/common/wire/slurm_batch.o tests/unit/rig/past_rig.c tests/unit/rig/pages_rig.c tests/unit/rig/sharetree_rig.c tests/unit/rig/ledger_rig.c $(CYCLE) $(patsubst %,$O/controller/ledger/%.o,hooks nodes/totals nodes/lost nodes/running usage/day_sums slurm/list slurm/batch slurm/fresh slurm/fresh_find slurm/fresh_rows slurm/rule slurm/settle) $(sort $(QUOTA) $(SHARETREE) $(LEDGER) $(CONFIG) $(ACCOUNTS))
$O/tests/unit/test_signature: LDLIBS += -ljansson -lnettle
$O/tests/unit/test_signature: $(patsubst %,$O/common/signature/%.o,signature digest allows) $(MODEL) $(WIRE)
$O/tests/unit/test_starts: LDLIBS += -lpq -lsqlite3
$O/tests/unit/test_starts: $(patsubst %,$O/agent/report/%.o,starts store) $(DB) $O/common/err.o
$O/tests/unit/test_users: LDLIBS += -lmunge -lnettle
$O/tests/unit/test_users: $O/agent/users.o $O/common/auth/auth.o $O/common/err.o
$O/tests/unit/test_stopped: $O/agent/enforce/manager/manager.o $O/common/err.o
$O/tests/unit/test_stored: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_stored: tests/unit/rig/ledger_rig.c $(LEDGER) $(patsubst %,$O/controller/ledger/%.o,jobs/prune verify/verify verify/verify_totals verify/verify_parts)
# Texts of the ledger are known by their digests; who does not need it does not get it (--as-needed).
$(UNIT): LDLIBS += -lnettle
$O/tests/unit/test_cores: $(call objs,slurm/cores.c)
$O/tests/unit/test_gpu_files: $(call objs,slurm/gpu_files.c)
$O/tests/unit/test_pbs_id: $O/common/model/pbs/id.o $O/common/err.o
$O/tests/unit/test_limits: $(call objs,slurm/limits.c common/model/amount.c common/err.c)
$O/tests/unit/test_question: LDLIBS += -ljansson
$O/tests/unit/test_question: $(call objs,slurm/submit/question.c common/wire/slurm_submit.c slurm/follow/array.c) $(MODEL) $(WIRE)
$O/tests/unit/test_slurm_rule: $O/controller/ledger/slurm/rule.o
$O/tests/unit/test_compare: $O/cli/admin/reconcile/compare.o
$O/tests/unit/test_pace: $O/slurm/follow/read/pace.o
$O/tests/unit/test_tres: $O/slurm/follow/read/tres.o
$O/tests/unit/test_slurm_again $O/tests/unit/test_slurm_batch $O/tests/unit/test_slurm_fresh: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_slurm_again $O/tests/unit/test_slurm_batch $O/tests/unit/test_slurm_fresh: tests/unit/rig/slurm_rig.c tests/unit/rig/ledger_rig.c $(LEDGER) $(patsubst %,$O/controller/ledger/slurm/%.o,batch fresh fresh_find fresh_rows rule settle list) $(patsubst %,$O/controller/ledger/%.o,verify/verify verify/verify_totals verify/verify_parts archive/archive archive/rows archive/files archive/slurm import/import import/import_batch import/followed) $(patsubst %,$O/%.o,common/wire/slurm_batch common/csv/csv_write controller/history/history)
$O/tests/unit/test_session: LDLIBS += -lnettle
$O/tests/unit/test_session: $O/controller/session/session.o $O/common/err.o
$O/tests/unit/test_render: ALLFLAGS += $(shell pkg-config --cflags libxslt)
$O/tests/unit/test_render: LDLIBS += -ljansson -lxslt -lxml2 -lm -lnettle
$O/tests/unit/test_render: $(patsubst %,$O/controller/web/%.o,render format files xml rows_csv) $(patsubst %,$O/controller/policy/charge/%.o,tariff charge) $O/common/csv/csv_write.o $O/common/wire/wire.o $O/common/wire/json/load.o $O/common/wire/doc.o $O/common/utf8.o $(MODEL)
$O/tests/unit/test_survey: LDLIBS += -lpq -lsqlite3 -ljansson
$O/tests/unit/test_survey: tests/unit/rig/ledger_rig.c $(LEDGER) $O/controller/api/nodes/survey.o $O/controller/dispatch/names.o $O/controller/ledger/nodes/running.o
$O/tests/unit/test_workers: LDLIBS += -lsystemd -lpthread
$O/tests/unit/test_workers: $O/controller/http/workers.o $(patsubst %,$O/common/%.o,err stops/stops log)
$O/tests/unit/test_turns: LDLIBS += -lsystemd
$O/tests/unit/test_turns: $O/controller/api/turns.o $(patsubst %,$O/common/%.o,err utf8 stops/stops log)
$O/tests/unit/test_lost_nodes: LDLIBS += -lsystemd
$O/tests/unit/test_lost_nodes: $O/controller/maintenance/lost_nodes.o $O/common/log.o $O/common/err.o
$O/tests/unit/test_log: LDLIBS += -lsystemd
$O/tests/unit/test_log: $O/common/log.o
$O/tests/unit/test_stops: LDLIBS += -lsystemd
$O/tests/unit/test_stops: $(patsubst %,$O/common/%.o,stops/stops log)
$O/tests/unit/test_signed: $O/agent/job/signed.o $O/common/err.o
$O/tests/unit/test_ask_agent: $O/slurm/ask_agent.o $O/common/err.o
$O/tests/unit/test_unbegun: $O/slurm/unbegun.o $O/common/err.o
$O/tests/unit/test_utilisation: $(patsubst %,$O/controller/policy/efficiency/%.o,waits capacity)
$O/tests/unit/test_preempt_rule: LDLIBS += -lm
$O/tests/unit/test_preempt_rule: $(SCHEDULE)
$O/tests/unit/test_preempt $O/tests/unit/test_score: LDLIBS += -lm
$O/tests/unit/test_preempt $O/tests/unit/test_score: $(SCHEDULE)
$O/tests/unit/test_same: LDLIBS += -lm
$O/tests/unit/test_same: $(SCHEDULE)
$O/tests/unit/test_backfill_rule: LDLIBS += -lm
$O/tests/unit/test_backfill_rule: $(SCHEDULE)
$O/tests/unit/test_ends: $O/controller/simulate/ends.o
$O/tests/unit/test_profile: LDLIBS += -lm
$O/tests/unit/test_profile: $(patsubst %,$O/controller/simulate/%.o,ends fairness grants limits names profile replay trace usage) $(patsubst %,$O/controller/history/%.o,history swf) \
	$(sort $(SCHEDULE) $(patsubst %,$O/controller/policy/%.o,quota/eligible quota/grant priority/priority fairshare/fairshare fairshare/level fairshare/fair_tree fairshare/classic fairshare/decay charge/charge) $(MODEL))
$O/tests/unit/test_ended: $O/agent/slurm/ended.o $O/agent/slurm/ended_file.o $O/common/replace_file.o $O/common/model/amount.o $O/common/err.o
$O/tests/unit/test_doctor $O/tests/unit/test_doctor_link: $(patsubst %,$O/cli/admin/doctor/judge/%.o,report services kernel access files link ledger)
$O/tests/unit/test_end_message: LDLIBS += -lsystemd
$O/tests/unit/test_end_message: $O/agent/job/phase/end_message.o $O/common/log.o $O/common/utf8.o
$O/tests/unit/test_end_message: | $O/bin/reeve-launch
$O/tests/unit/test_gather_database: LDLIBS += -lsqlite3
$O/tests/unit/test_gather_database: $O/cli/admin/doctor/gather/database.o $O/controller/postgres/pq.o $(patsubst %,$O/common/%.o,process/bounded owner/owner utf8 err)
$O/tests/unit/test_step_console: LDLIBS += -lnettle
$O/tests/unit/test_step_console: $O/agent/launch/step/console.o $O/agent/launch/step/session.o $O/common/seal/seal.o $O/common/model/console/console.o $O/common/packets/packets.o $O/common/err.o
$O/tests/unit/test_gather_run: $O/cli/admin/doctor/gather/run.o $O/common/utf8.o $O/common/err.o
$O/tests/unit/test_fair:
$O/tests/unit/test_hooks_queue: $O/controller/hooks/hooks_queue.o
