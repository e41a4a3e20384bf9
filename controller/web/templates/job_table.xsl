<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- Jobs, a row each: what was used of what was requested, what it cost, how it ended or why it waits. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">

<!-- That a list is of the reader's own jobs, and where those of their projects are. -->
<xsl:template name="whose">
	<xsl:param name="jobs"/>
	<xsl:if test="$jobs/@narrowed_to">
		<p class="note">Your own jobs<xsl:if test="/page/asked/@account"> in <xsl:value-of select="/page/asked/@account"/></xsl:if>.
		<xsl:if test="$jobs/coordinates/item">Those of all users of the projects that you coordinate:
			<xsl:for-each select="$jobs/coordinates/item"><xsl:if test="position() &gt; 1">, </xsl:if>
				<a href="/web/jobs?account={f:encode(@text)}"><xsl:value-of select="@text"/></a></xsl:for-each>.</xsl:if></p>
	</xsl:if>
</xsl:template>

<xsl:template name="job-table">
	<xsl:param name="jobs"/>
	<xsl:param name="none"/>
	<xsl:param name="label">Jobs</xsl:param>
	<xsl:choose>
		<xsl:when test="not($jobs)"><p class="none"><xsl:value-of select="$none"/></p></xsl:when>
		<xsl:otherwise>
			<div class="scroll" tabindex="0" role="region" aria-label="{$label}">
			<table class="jobs">
				<thead><tr>
					<xsl:call-template name="head"><xsl:with-param name="by">job</xsl:with-param><xsl:with-param name="text">Job</xsl:with-param></xsl:call-template>
					<xsl:call-template name="head"><xsl:with-param name="by">state</xsl:with-param><xsl:with-param name="text">State</xsl:with-param></xsl:call-template>
					<xsl:call-template name="head"><xsl:with-param name="by">name</xsl:with-param><xsl:with-param name="text">Name</xsl:with-param></xsl:call-template>
					<xsl:if test="/page/@operator or $jobs/@user != /page/@user"><xsl:call-template name="head"><xsl:with-param name="by">user</xsl:with-param><xsl:with-param name="text">User</xsl:with-param></xsl:call-template></xsl:if>
					<xsl:call-template name="head"><xsl:with-param name="by">account</xsl:with-param><xsl:with-param name="text">Account</xsl:with-param></xsl:call-template>
					<xsl:call-template name="head"><xsl:with-param name="by">ncpus</xsl:with-param><xsl:with-param name="text">Cores</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
					<th scope="col" class="figure">of CPU</th>
					<th scope="col" class="figure">of mem</th>
					<th scope="col" class="figure">of vmem</th>
					<th scope="col" class="figure">of jobfs</th>
					<xsl:if test="$jobs/request/resources/@ngpus &gt; 0"><th scope="col" class="figure">of GPUs</th></xsl:if>
					<xsl:call-template name="head"><xsl:with-param name="by">running_ns</xsl:with-param><xsl:with-param name="text">Ran, of walltime</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
					<xsl:call-template name="head"><xsl:with-param name="by">charge_requested_ms</xsl:with-param><xsl:with-param name="text">Charged, of that used</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
				</tr></thead>
				<tbody><xsl:apply-templates select="$jobs" mode="row">
					<xsl:sort select="number((@*|*/@*|*/*/@*)[name() = $sort])" data-type="number" order="{$order}"/>
					<xsl:sort select="(@*|*/@*|*/*/@*)[name() = $sort]" order="{$order}"/>
					<xsl:with-param name="has-users" select="boolean(/page/@operator or $jobs/@user != /page/@user)"/>
					<xsl:with-param name="has-gpus" select="boolean($jobs/request/resources/@ngpus &gt; 0)"/>
				</xsl:apply-templates></tbody>
			</table>
			</div>
		</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template match="item" mode="row">
	<xsl:param name="has-users"/>
	<xsl:param name="has-gpus"/>
	<xsl:variable name="q" select="request/resources"/>
	<!-- How it ended, or why it waits: in a row of its own, as wide as the table. -->
	<xsl:variable name="words"><xsl:choose>
		<xsl:when test="end/@line"><xsl:value-of select="end/@line"/></xsl:when>
		<xsl:when test="@why != ''"><xsl:value-of select="@why"/></xsl:when>
	</xsl:choose></xsl:variable>
	<tr>
		<xsl:if test="$words != ''"><xsl:attribute name="class">with-end</xsl:attribute></xsl:if>
		<th scope="row"><xsl:call-template name="job-link"/></th>
		<td><xsl:call-template name="state"/></td>
		<td class="name"><xsl:value-of select="@name"/></td>
		<xsl:if test="$has-users"><td><xsl:value-of select="@user"/></td></xsl:if>
		<td><xsl:value-of select="@account"/></td>
		<td class="figure"><xsl:value-of select="f:count($q/@ncpus)"/></td>
		<xsl:call-template name="part"><xsl:with-param name="of" select="usage/@cpu_ns"/><xsl:with-param name="whole" select="@running_ns * $q/@ncpus"/></xsl:call-template>
		<xsl:call-template name="part"><xsl:with-param name="of" select="usage/@rss_peak_bytes"/><xsl:with-param name="whole" select="$q/@mem_bytes"/></xsl:call-template>
		<xsl:call-template name="part"><xsl:with-param name="of" select="usage/@vmem_peak_bytes"/><xsl:with-param name="whole" select="$q/@vmem_bytes"/></xsl:call-template>
		<xsl:call-template name="part"><xsl:with-param name="of" select="usage/@jobfs_peak_bytes"/><xsl:with-param name="whole" select="$q/@jobfs_bytes"/></xsl:call-template>
		<xsl:if test="$has-gpus"><xsl:call-template name="part"><xsl:with-param name="of" select="usage/@gpu_busy_ns"/><xsl:with-param name="whole" select="@running_ns * $q/@ngpus"/></xsl:call-template></xsl:if>
		<td class="figure"><xsl:if test="@running_ns &gt; 0"><xsl:value-of select="f:duration-ns(@running_ns)"/>
			<xsl:call-template name="bar"><xsl:with-param name="part" select="@running_ns div 1000000000"/><xsl:with-param name="whole" select="$q/@walltime_s"/></xsl:call-template></xsl:if></td>
		<td class="figure"><xsl:if test="@running_ns &gt; 0"><xsl:value-of select="f:hours(@charge_requested_ms)"/>
			<xsl:call-template name="bar"><xsl:with-param name="part" select="@charge_used_ms"/><xsl:with-param name="whole" select="@charge_requested_ms"/></xsl:call-template></xsl:if></td>
	</tr>
	<xsl:if test="$words != ''">
		<tr><td/><td colspan="{10 + number($has-users) + number($has-gpus)}" class="end"><div><xsl:value-of select="$words"/></div></td></tr>
	</xsl:if>
</xsl:template>

<!-- A cell: how much of the request was used, as text and bar; empty: not measured, or not requested. -->
<xsl:template name="part">
	<xsl:param name="of"/>
	<xsl:param name="whole"/>
	<td class="figure"><xsl:if test="$of and $whole &gt; 0"><xsl:value-of select="f:percent($of, $whole)"/>
		<xsl:call-template name="bar"><xsl:with-param name="part" select="$of"/><xsl:with-param name="whole" select="$whole"/></xsl:call-template></xsl:if></td>
</xsl:template>
</xsl:stylesheet>
