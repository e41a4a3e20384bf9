/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dquot.c - receives the kernel's messages of quota excess by generic netlink; see dquot.h. The
 * kernel sends them, but every length is checked: nothing here trusts a message. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/quota.h>
#include "agent/enforce/jobfs/dquot.h"
#include "common/cleanup.h"

#define PROJECT_QUOTA 2 /* enum quota_type of the kernel: PRJQUOTA */

struct attr {
	uint16_t type;
	const void *data;
	size_t size;
};

/* Reads the attribute at *at and moves *at past it; false at the end or for a bad length. */
static bool next_attr(const char **at, const char *end, struct attr *ret)
{
	struct nlattr a;

	if ((size_t)(end - *at) < sizeof(a))
		return false;
	memcpy(&a, *at, sizeof(a));
	if (a.nla_len < sizeof(a) || a.nla_len > end - *at)
		return false;
	ret->type = a.nla_type & NLA_TYPE_MASK;
	ret->data = *at + sizeof(a);
	ret->size = a.nla_len - sizeof(a);
	*at += NLA_ALIGN(a.nla_len) < end - *at ? NLA_ALIGN(a.nla_len) : end - *at;
	return true;
}

/* QUOTA_NL_A_EXCESS_ID has 64 bits, most others 32. */
static uint32_t u32_of(const struct attr *a)
{
	uint64_t wide = 0;
	uint32_t v = 0;

	if (a->size >= sizeof(wide)) {
		memcpy(&wide, a->data, sizeof(wide));
		return (uint32_t)wide;
	}
	memcpy(&v, a->data, a->size < sizeof(v) ? a->size : sizeof(v));
	return v;
}

/* The number of the family's first multicast group (VFS_DQUOT has one, "events"); 0: none. */
static uint32_t find_group(const char *at, const char *end)
{
	struct attr family, group, field;
	uint32_t id;

	while (next_attr(&at, end, &family)) {
		const char *g = family.data, *g_end = g + family.size;

		if (family.type != CTRL_ATTR_MCAST_GROUPS)
			continue;
		while (next_attr(&g, g_end, &group)) {
			const char *f = group.data, *f_end = f + group.size;

			id = 0;
			while (next_attr(&f, f_end, &field))
				if (field.type == CTRL_ATTR_MCAST_GRP_ID)
					id = u32_of(&field);
			if (id)
				return id;
		}
	}
	return 0;
}

static int send_family_request(int fd)
{
	struct {
		struct nlmsghdr nl;
		struct genlmsghdr ge;
		struct nlattr attr;
		char name[12];
	} msg = {
		.nl = { .nlmsg_len = sizeof(msg),
			.nlmsg_type = GENL_ID_CTRL,
			.nlmsg_flags = NLM_F_REQUEST },
		.ge = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		.attr = { .nla_len = NLA_HDRLEN + 10, .nla_type = CTRL_ATTR_FAMILY_NAME },
		.name = "VFS_DQUOT",
	};

	return send(fd, &msg, sizeof(msg), 0) < 0 ? -errno : 0;
}

int dquot_open(int *ret_fd, struct err *err)
{
	_cleanup_close_ int fd = -1;
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	char buf[4096];
	const struct nlmsghdr *nl = (const void *)buf;
	uint32_t group;
	ssize_t n;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, -errno, "quota messages: netlink: %m");
	if (send_family_request(fd) < 0)
		return err_set(err, -errno, "quota messages: look up VFS_DQUOT: %m");
	n = recv(fd, buf, sizeof(buf), 0);
	if (n < (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN) || nl->nlmsg_type == NLMSG_ERROR)
		return err_set(err, -ENOENT, "this kernel sends no messages of quota excess");
	group = find_group(buf + NLMSG_HDRLEN + GENL_HDRLEN, buf + n);
	if (!group)
		return err_set(err, -ENOENT, "this kernel sends no messages of quota excess");
	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		return err_set(err, -errno, "quota messages: join the group: %m");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static void parse_message(const char *at, const char *end, dquot_fn fn, void *ctx)
{
	struct dquot_excess excess = { 0 };
	uint32_t type = 0;
	struct attr a;

	while (next_attr(&at, end, &a)) {
		if (a.type == QUOTA_NL_A_QTYPE)
			type = u32_of(&a);
		else if (a.type == QUOTA_NL_A_EXCESS_ID)
			excess.projid = u32_of(&a);
		else if (a.type == QUOTA_NL_A_WARNING)
			excess.warning = (int)u32_of(&a);
		else if (a.type == QUOTA_NL_A_DEV_MAJOR)
			excess.dev_major = u32_of(&a);
		else if (a.type == QUOTA_NL_A_DEV_MINOR)
			excess.dev_minor = u32_of(&a);
	}
	if (type == PROJECT_QUOTA)
		fn(ctx, &excess);
}

int dquot_dispatch(int fd, dquot_fn fn, void *ctx)
{
	char buf[8192];
	const struct nlmsghdr *nl;
	ssize_t n;
	int left;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		left = (int)n;
		for (nl = (const void *)buf; NLMSG_OK(nl, left); nl = NLMSG_NEXT(nl, left))
			if (nl->nlmsg_type > GENL_ID_CTRL &&
			    nl->nlmsg_len >= NLMSG_HDRLEN + GENL_HDRLEN)
				parse_message((const char *)nl + NLMSG_HDRLEN + GENL_HDRLEN,
					      (const char *)nl + nl->nlmsg_len, fn, ctx);
	}
	return n < 0 && errno != EAGAIN ? -errno : 0;
}
