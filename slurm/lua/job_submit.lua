-- SPDX-License-Identifier: GPL-2.0-or-later
-- job_submit.lua - asks Reeve whether a job may be submitted to Slurm (docs/slurm.md, "Quotas at submission").
--
-- slurmctld runs this for each submission and each change of a job, and waits for it with a lock held. So there is one exchange
-- over a local socket with reeve-slurm-submit, bounded in time and in bytes. When that fails the job is submitted all the same,
-- and slurmctld's log says so.
--
-- slurm.conf: JobSubmitPlugins=lua. This file is job_submit.lua beside slurm.conf, or a site's own one begins with
--	dofile("/usr/share/reeve/slurm/job_submit.lua")
-- and calls reeve.submit(job_desc, part_list, submit_uid) and reeve.modify(job_desc, job_rec, part_list, modify_uid), which return
-- slurm.SUCCESS or an error, after slurm.log_user() with its sentence.

reeve = {
	socket = "/run/reeve-slurm/submit.sock",
	limit_ms = 500, -- of one exchange
	pause_s = 10, -- after an exchange that took longer than slow_ms without a decision: nothing is asked meanwhile
	slow_ms = 200,
	quiet_until = 0,
	unchecked = "run", -- a job that could not be checked goes on; "refuse": it is refused
}

local QUESTION_MAX = 32000
local INFINITE = 4294967295

-- Slurm's NO_VAL of 64, 32 and 16 bits, less one: nothing that large is an amount.
local function number(n, no_val)
	if type(n) == "number" and n >= 0 and n < (no_val or 4294967294) then return n end
end

local function longer(n) return number(n, 9.2e18) end
local function short(n) return number(n, 65534) end

-- Minutes: of the job, else the default of its partition, else its longest.
local function minutes(job_limit, part)
	for _, n in ipairs({ job_limit or false, part and part.default_time or false, part and part.max_time or false }) do
		if n == INFINITE then return n end
		if n and number(n) then return n end
	end
end

-- The job's first partition, or the default one.
local function find_partition(names, part_list)
	local first = names and string.match(names, "^[^,]+")
	for name, part in pairs(part_list or {}) do
		if first and name == first or not first and part.flag_default == 1 then return part, name end
	end
end

local function encode(text)
	return (string.gsub(text, "[^%w._:,-]", function(c) return string.format("%%%02X", string.byte(c)) end))
end

-- From the fields that a job has, with `old` those of a job that is changed.
local function describe(job, old, part_list)
	local partition = job.partition or old.partition
	local part, default = find_partition(partition, part_list)
	local shared = short(job.shared)
	local fields = {
		{ "uid", old.user_id or job.user_id },
		{ "job", number(old.job_id) },
		{ "account", job.account or old.account or job.default_account },
		{ "partition", partition or default },
		{ "qos", job.qos or old.qos },
		{ "min_cpus", number(job.min_cpus) or number(old.min_cpus) },
		{ "num_tasks", number(job.num_tasks) },
		{ "cpus_per_task", short(job.cpus_per_task) },
		{ "min_nodes", number(job.min_nodes) or number(old.min_nodes) },
		{ "pn_min_cpus", short(job.pn_min_cpus) },
		{ "min_mem_per_cpu", longer(job.min_mem_per_cpu) or longer(old.min_mem_per_cpu) },
		{ "min_mem_per_node", longer(job.min_mem_per_node) or longer(old.min_mem_per_node) },
		{ "tres_per_job", job.tres_per_job or old.tres_per_job },
		{ "tres_per_node", job.tres_per_node or old.tres_per_node },
		{ "tres_per_socket", job.tres_per_socket or old.tres_per_socket },
		{ "sockets_per_node", short(job.sockets_per_node) },
		{ "tres_per_task", job.tres_per_task or old.tres_per_task },
		{ "shared", shared },
		{ "time_limit", minutes(job.time_limit == INFINITE and INFINITE or number(job.time_limit) or old.time_limit, part) },
		{ "array_inx", job.array_inx },
	}
	local lines = {}
	for _, field in ipairs(fields) do
		local value = field[2]
		if type(value) == "number" then
			lines[#lines + 1] = string.format("%s=%.0f\n", field[1], value)
		elseif type(value) == "string" and #value > 0 then
			if #value > QUESTION_MAX / 4 then
				return nil, string.format("%s has %d bytes, and at most %d are read: write it shorter", field[1], #value, QUESTION_MAX / 4)
			end
			lines[#lines + 1] = field[1] .. "=" .. encode(value) .. "\n"
		end
	end
	local question = table.concat(lines) .. "\n"
	if #question > QUESTION_MAX then
		return nil, "its names and lists are too long to be checked: write them shorter"
	end
	return question
end

-- Returns the word and the sentence of the answer; nil and why there is none.
local function ask(question)
	local now = os.time()
	if now < reeve.quiet_until and reeve.quiet_until - now <= reeve.pause_s then
		return nil, "reeve-slurm-submit was slow a moment ago"
	end
	local has, reeve_lua = pcall(require, "reeve_lua")
	if not has then return nil, "reeve_lua.so is not installed for this Lua: " .. tostring(reeve_lua) end
	local answer, why, took = reeve_lua.ask(reeve.socket, question, reeve.limit_ms)
	local word, argument, sentence = string.match(answer or "", "^(%l+) ?([^\n]*)\n([^\n]*)")
	if word == nil or word == "none" then
		if took > reeve.slow_ms then reeve.quiet_until = os.time() + reeve.pause_s end
		return nil, sentence or why
	end
	return word, sentence, argument
end

-- Slurm shows a user no words of a change that was refused: slurmctld's log has them.
local function say(text, is_new)
	if is_new then slurm.log_user("%s", text) else slurm.log_info("%s", text) end
end

-- `apply` changes the job's partition.
local function decide(question, uid, is_new, apply)
	local word, sentence, argument = ask(question)
	if word == "refuse" then
		if is_new then say("reeve: " .. sentence, true) end
		slurm.log_info("%s", string.format("reeve: refused a job of uid %.0f: %s", uid, sentence))
		return slurm.ESLURM_ACCOUNTING_POLICY or slurm.ERROR
	end
	if word == "move" then
		apply(argument)
		say("reeve: " .. sentence, is_new)
	elseif word ~= "accept" and reeve.unchecked == "refuse" then
		say("reeve: quotas cannot be checked now, so that nothing is accepted: try again in a minute", is_new)
		slurm.log_info("%s", string.format("reeve: a job of uid %.0f was not checked and is refused: %s", uid, tostring(sentence)))
		return slurm.ERROR
	elseif word ~= "accept" then
		slurm.log_info("%s", string.format("reeve: a job of uid %.0f was not checked and goes on: %s", uid, tostring(sentence)))
	end
	return slurm.SUCCESS
end

local function check(job, old, part_list, uid)
	local is_new = old.user_id == nil
	local ok, question, long = pcall(describe, job, old, part_list)
	if not ok then
		slurm.log_error("%s", "reeve: a job was not checked and goes on: " .. tostring(question))
		return slurm.SUCCESS
	end
	if not question then
		say("reeve: " .. long, is_new)
		return slurm.ESLURM_ACCOUNTING_POLICY or slurm.ERROR
	end
	return decide(question, uid, is_new, function(partition) job.partition = partition end)
end

-- Jobs of root are not asked about.
function reeve.submit(job_desc, part_list, submit_uid)
	if job_desc.user_id == 0 then return slurm.SUCCESS end
	return check(job_desc, {}, part_list, job_desc.user_id)
end

-- Only what changes the price or the account is asked about, and not what root changes.
function reeve.modify(job_desc, job_rec, part_list, modify_uid)
	local changes = job_desc.account or job_desc.partition or job_desc.qos or number(job_desc.time_limit)
		or job_desc.time_limit == INFINITE or number(job_desc.min_cpus) or number(job_desc.min_nodes)
		or longer(job_desc.min_mem_per_cpu) or longer(job_desc.min_mem_per_node)
		or job_desc.tres_per_job or job_desc.tres_per_node or job_desc.tres_per_socket or job_desc.tres_per_task
	if modify_uid == 0 or not changes then return slurm.SUCCESS end
	return check(job_desc, job_rec, part_list, job_rec.user_id)
end

function slurm_job_submit(job_desc, part_list, submit_uid) return reeve.submit(job_desc, part_list, submit_uid) end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid) return reeve.modify(job_desc, job_rec, part_list, modify_uid) end
return slurm.SUCCESS
