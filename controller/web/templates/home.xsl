<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:import href="job_table.xsl"/>
<xsl:variable name="title">Overview</xsl:variable>
<xsl:variable name="here">/web/</xsl:variable>

<xsl:template name="content">
	<xsl:call-template name="whose"><xsl:with-param name="jobs" select="running"/></xsl:call-template>
	<section>
		<h2>Running</h2>
		<xsl:call-template name="job-table">
			<xsl:with-param name="jobs" select="running/jobs/item"/>
			<xsl:with-param name="none">No job is running.</xsl:with-param>
			<xsl:with-param name="label">Running jobs</xsl:with-param>
		</xsl:call-template>
		<xsl:call-template name="all"><xsl:with-param name="of" select="running"/><xsl:with-param name="state">started</xsl:with-param><xsl:with-param name="text">All running jobs</xsl:with-param></xsl:call-template>
	</section>
	<section>
		<h2>Queued</h2>
		<xsl:call-template name="job-table">
			<xsl:with-param name="jobs" select="queued/jobs/item"/>
			<xsl:with-param name="none">No job is queued.</xsl:with-param>
			<xsl:with-param name="label">Queued jobs</xsl:with-param>
		</xsl:call-template>
		<xsl:call-template name="all"><xsl:with-param name="of" select="queued"/><xsl:with-param name="state">queued</xsl:with-param><xsl:with-param name="text">All queued jobs</xsl:with-param></xsl:call-template>
	</section>
	<section>
		<h2>Ended last</h2>
		<xsl:call-template name="job-table">
			<xsl:with-param name="jobs" select="ended/jobs/item"/>
			<xsl:with-param name="none">No job has ended yet.</xsl:with-param>
			<xsl:with-param name="label">Jobs that ended last</xsl:with-param>
		</xsl:call-template>
		<xsl:call-template name="all"><xsl:with-param name="of" select="ended"/><xsl:with-param name="state">ended</xsl:with-param><xsl:with-param name="text">All ended jobs</xsl:with-param></xsl:call-template>
	</section>
	<xsl:if test="usage/rows/item">
		<section>
			<h2>This period, by account</h2>
			<div class="scroll" tabindex="0" role="region" aria-label="Usage by account"><table class="narrow">
				<thead><tr><th scope="col">Account</th><th scope="col">Pool</th><th scope="col" class="figure">Jobs</th>
					<th scope="col" class="figure">Charged, <xsl:value-of select="usage/@unit"/></th></tr></thead>
				<tbody><xsl:for-each select="usage/rows/item">
					<tr><th scope="row"><xsl:value-of select="@account"/><xsl:if test="@own_only"><span class="note under">your own usage</span></xsl:if></th>
						<td><xsl:value-of select="@pool"/></td>
						<td class="figure"><xsl:value-of select="f:count(@jobs_started)"/></td>
						<td class="figure"><xsl:value-of select="f:hours(@counts_ms)"/></td></tr>
				</xsl:for-each></tbody>
			</table></div>
			<xsl:if test="usage/@left_out &gt; 0"><p class="note"><xsl:value-of select="f:count(usage/@left_out)"/> more rows used less.</p></xsl:if>
			<p><a href="/web/usage">Usage in full</a></p>
		</section>
	</xsl:if>
</xsl:template>

<!-- The link to the list in full, of which the page shows the newest. -->
<xsl:template name="all">
	<xsl:param name="of"/>
	<xsl:param name="state"/>
	<xsl:param name="text"/>
	<p><xsl:if test="$of/@next">The newest <xsl:value-of select="count($of/jobs/item)"/> are shown. </xsl:if>
		<a href="/web/jobs?state={$state}"><xsl:value-of select="$text"/></a></p>
</xsl:template>
</xsl:stylesheet>
