<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:import href="job_table.xsl"/>
<xsl:variable name="title">Overview</xsl:variable>
<xsl:variable name="here">/web/</xsl:variable>

<xsl:template name="content">
	<section>
		<h2>Queued and running</h2>
		<xsl:call-template name="job-table">
			<xsl:with-param name="jobs" select="active/jobs/item"/>
			<xsl:with-param name="none">No job is queued or running.</xsl:with-param>
			<xsl:with-param name="label">Queued and running jobs</xsl:with-param>
		</xsl:call-template>
		<p><a href="/web/jobs?state=active">All queued and running jobs</a></p>
	</section>
	<section>
		<h2>Ended last</h2>
		<xsl:call-template name="job-table">
			<xsl:with-param name="jobs" select="ended/jobs/item"/>
			<xsl:with-param name="none">No job has ended yet.</xsl:with-param>
			<xsl:with-param name="label">Jobs that ended last</xsl:with-param>
		</xsl:call-template>
		<p><a href="/web/jobs?state=ended">All ended jobs</a></p>
	</section>
	<xsl:if test="usage/rows/item">
		<section>
			<h2>This period, by account</h2>
			<div class="scroll" tabindex="0" role="region" aria-label="Usage by account"><table class="narrow">
				<thead><tr><th scope="col">Account</th><th scope="col" class="figure">Jobs</th>
					<th scope="col" class="figure">Charged, equivalent hours</th></tr></thead>
				<tbody><xsl:for-each select="usage/rows/item">
					<tr><th scope="row"><xsl:value-of select="@account"/></th>
						<td class="figure"><xsl:value-of select="f:count(@jobs_started)"/></td>
						<td class="figure"><xsl:value-of select="f:hours(@counts_ms)"/></td></tr>
				</xsl:for-each></tbody>
			</table></div>
			<xsl:if test="usage/@left_out &gt; 0"><p class="note"><xsl:value-of select="f:count(usage/@left_out)"/> more rows used less.</p></xsl:if>
			<p><a href="/web/usage">Usage in full</a></p>
		</section>
	</xsl:if>
</xsl:template>
</xsl:stylesheet>
