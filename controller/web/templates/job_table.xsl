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
					<xsl:call-template name="head"><xsl:with-param name="by">job</xsl:with-param><xsl:with-param name="text">Job</xsl:with-param></xsl:call-template><xsl:call-template name="head"><xsl:with-param name="by">state</xsl:with-param><xsl:with-param name="text">State</xsl:with-param></xsl:call-template><xsl:call-template name="head"><xsl:with-param name="by">name</xsl:with-param><xsl:with-param name="text">Name</xsl:with-param></xsl:call-template>
					<xsl:if test="/page/@operator"><xsl:call-template name="head"><xsl:with-param name="by">user</xsl:with-param><xsl:with-param name="text">User</xsl:with-param></xsl:call-template></xsl:if>
					<xsl:call-template name="head"><xsl:with-param name="by">account</xsl:with-param><xsl:with-param name="text">Account</xsl:with-param></xsl:call-template>
					<xsl:call-template name="head"><xsl:with-param name="by">ncpus</xsl:with-param><xsl:with-param name="text">Cores</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
					<xsl:call-template name="head"><xsl:with-param name="by">vmem_peak_bytes</xsl:with-param><xsl:with-param name="text">Memory, peak of requested</xsl:with-param></xsl:call-template>
					<xsl:call-template name="head"><xsl:with-param name="by">running_ns</xsl:with-param><xsl:with-param name="text">Time, run of requested</xsl:with-param></xsl:call-template>
					<xsl:call-template name="head"><xsl:with-param name="by">charge_requested_ms</xsl:with-param><xsl:with-param name="text">Charged</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
					<th scope="col">End, or why it waits</th>
				</tr></thead>
				<tbody><xsl:apply-templates select="$jobs" mode="row">
			<xsl:sort select="number((@*|*/@*|*/*/@*)[name() = $sort])" data-type="number" order="{$order}"/>
			<xsl:sort select="(@*|*/@*|*/*/@*)[name() = $sort]" order="{$order}"/>
			</xsl:apply-templates></tbody>
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
