<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:import href="job_table.xsl"/>
<xsl:variable name="title">Jobs</xsl:variable>
<xsl:variable name="here">/web/jobs</xsl:variable>

<xsl:template name="content">
	<form method="get" action="/web/jobs" class="filter" role="search" aria-label="Jobs">
		<label>State
			<select name="state">
				<xsl:call-template name="option"><xsl:with-param name="value"/><xsl:with-param name="text">all</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">active</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">queued</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">started</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">running</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">suspended</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">ended</xsl:with-param></xsl:call-template>
			</select>
		</label>
		<label>Part of the name <input name="name" size="14" maxlength="63" value="{asked/@name}"/></label>
		<label>Account <input name="account" size="12" value="{asked/@account}"/></label>
		<label>User <input name="user" size="10" value="{asked/@user}"/></label>
		<label>Queue <input name="queue" size="10" value="{asked/@queue}"/></label>
		<xsl:if test="@operator"><label>Node <input name="node" size="10" value="{asked/@node}"/></label></xsl:if>
		<label>Submitted from <input type="date" name="start" value="{asked/@start}"/></label>
		<label>before <input type="date" name="end" value="{asked/@end}"/></label>
		<button type="submit">Show</button>
		<xsl:if test="asked/@*[name() != 'sort' and name() != 'order']"><a class="clear" href="/web/jobs">Show all</a></xsl:if>
	</form>
	<xsl:call-template name="whose"><xsl:with-param name="jobs" select="jobs"/></xsl:call-template>
	<xsl:call-template name="job-table">
		<xsl:with-param name="jobs" select="jobs/jobs/item"/>
		<xsl:with-param name="none"><xsl:choose>
			<xsl:when test="jobs/@next">No job matches among the newest that were searched.</xsl:when>
			<xsl:otherwise>No job matches.</xsl:otherwise>
		</xsl:choose></xsl:with-param>
	</xsl:call-template>
	<xsl:if test="jobs/jobs/item"><p class="note">"of CPU", "of mem" and so on: what was used, at its peak, of what was requested; CPU and GPUs on average while it ran.
	"Charged": <xsl:choose>
		<xsl:when test="jobs/jobs/item/@unit != jobs/jobs/item[1]/@unit">hours or units of each job's cluster and pool, which its page names</xsl:when>
		<xsl:otherwise><xsl:value-of select="f:unit(jobs/jobs/item[1]/@unit)"/></xsl:otherwise>
	</xsl:choose>; the bar is what a request of just what was used would have cost. Empty: not requested, or not measured.</p></xsl:if>
	<xsl:if test="jobs/@next">
		<p><a rel="next"><xsl:attribute name="href">/web/jobs?<xsl:for-each select="asked/@*[name() != 'before']"><xsl:value-of select="concat(name(), '=', f:encode(.), '&amp;')"/></xsl:for-each>before=<xsl:value-of select="jobs/@next"/></xsl:attribute>
		<xsl:choose>
			<xsl:when test="count(jobs/jobs/item) &lt; 50">Search older jobs</xsl:when>
			<xsl:otherwise>Older jobs</xsl:otherwise>
		</xsl:choose></a></p>
	</xsl:if>
</xsl:template>

<xsl:template name="option">
	<xsl:param name="value"/>
	<xsl:param name="text" select="$value"/>
	<option value="{$value}">
		<xsl:if test="string(/page/asked/@state) = $value"><xsl:attribute name="selected">selected</xsl:attribute></xsl:if>
		<xsl:value-of select="$text"/>
	</option>
</xsl:template>
</xsl:stylesheet>
