<?xml version="1.0" encoding="UTF-8"?>
<!-- Jobs, a row each: what was requested, what was used of it, what it cost, how it ended. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">

<xsl:template name="job-table">
	<xsl:param name="jobs"/>
	<xsl:param name="none"/>
	<xsl:param name="label">Jobs</xsl:param>
	<xsl:choose>
		<xsl:when test="not($jobs)"><p class="none"><xsl:value-of select="$none"/></p></xsl:when>
		<xsl:otherwise>
			<div class="scroll" tabindex="0" role="region" aria-label="{$label}">
			<table>
				<thead><tr>
					<th scope="col">Job</th><th scope="col">State</th><th scope="col">Name</th>
					<xsl:if test="/page/@operator"><th scope="col">User</th></xsl:if>
					<th scope="col">Account</th>
					<th scope="col" class="figure">Cores</th>
					<th scope="col">Memory, peak of requested</th>
					<th scope="col">Time, run of requested</th>
					<th scope="col" class="figure">Charged</th>
					<th scope="col">End, or why it waits</th>
				</tr></thead>
				<tbody><xsl:apply-templates select="$jobs" mode="row"/></tbody>
			</table>
			</div>
		</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template match="item" mode="row">
	<tr>
		<th scope="row"><xsl:call-template name="job-link"/></th>
		<td><xsl:call-template name="state"/></td>
		<td class="name"><xsl:value-of select="@name"/></td>
		<xsl:if test="/page/@operator"><td><xsl:value-of select="@user"/></td></xsl:if>
		<td><xsl:value-of select="@account"/></td>
		<td class="figure"><xsl:value-of select="f:count(request/resources/@ncpus)"/></td>
		<td><xsl:call-template name="used-of">
			<xsl:with-param name="used" select="usage/@vmem_peak_bytes"/>
			<xsl:with-param name="requested" select="request/resources/@vmem_bytes"/>
			<xsl:with-param name="used-text" select="f:bytes(usage/@vmem_peak_bytes)"/>
			<xsl:with-param name="requested-text" select="f:bytes(request/resources/@vmem_bytes)"/>
		</xsl:call-template></td>
		<td><xsl:call-template name="used-of">
			<xsl:with-param name="used" select="@running_ns div 1000000000"/>
			<xsl:with-param name="requested" select="request/resources/@walltime_s"/>
			<xsl:with-param name="used-text" select="f:duration-ns(@running_ns)"/>
			<xsl:with-param name="requested-text" select="f:duration(request/resources/@walltime_s)"/>
		</xsl:call-template></td>
		<td class="figure"><xsl:value-of select="f:hours(@charge_requested_ms)"/></td>
		<td class="sentence"><xsl:choose>
			<xsl:when test="end/@line"><xsl:value-of select="end/@line"/></xsl:when>
			<xsl:when test="@why"><xsl:value-of select="@why"/></xsl:when>
		</xsl:choose></td>
	</tr>
</xsl:template>

<xsl:template name="used-of">
	<xsl:param name="used"/>
	<xsl:param name="requested"/>
	<xsl:param name="used-text"/>
	<xsl:param name="requested-text"/>
	<span class="pair"><xsl:value-of select="$used-text"/> of <xsl:value-of select="$requested-text"/></span>
	<xsl:call-template name="bar">
		<xsl:with-param name="part" select="$used"/>
		<xsl:with-param name="whole" select="$requested"/>
	</xsl:call-template>
</xsl:template>
</xsl:stylesheet>
