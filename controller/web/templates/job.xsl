<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:import href="job_price.xsl"/>
<xsl:import href="timeline.xsl"/>
<xsl:variable name="job" select="/page/job/job"/>
<xsl:variable name="title">Job <xsl:value-of select="$job/@id"/></xsl:variable>
<xsl:variable name="here">/web/jobs</xsl:variable>

<xsl:template name="content"><xsl:apply-templates select="$job" mode="whole"/></xsl:template>

<xsl:template match="job" mode="whole">
	<xsl:variable name="q" select="request/resources"/>
	<!-- In whose units an amount is shown that was not requested itself. -->
	<xsl:variable name="like" select="($q/@vmem_bytes | $q/@mem_bytes | $q/@jobfs_bytes)[1]"/>
	<p class="lead"><xsl:call-template name="state"/><xsl:text> </xsl:text>
		<strong><xsl:value-of select="@name"/></strong> of <xsl:value-of select="@user"/>,
		account <xsl:value-of select="@account"/>, queue <xsl:value-of select="@queue"/> on <xsl:value-of select="@cluster"/></p>
	<xsl:if test="end/@line"><p class="sentence end"><xsl:value-of select="end/@line"/></p></xsl:if>
	<xsl:choose>
		<xsl:when test="/page/why/job/@why != ''"><p class="sentence"><xsl:value-of select="/page/why/job/@why"/></p></xsl:when>
		<xsl:when test="@why != ''"><p class="sentence"><xsl:value-of select="@why"/></p></xsl:when>
	</xsl:choose>
	<xsl:if test="/page/why/forecast"><p>Estimated start: in <xsl:value-of select="f:duration(/page/why/forecast/@starts_in_s)"/>,
		at <xsl:value-of select="f:time(/page/why/forecast/@starts_at_ns)"/>: <xsl:value-of select="/page/why/forecast/@sure"/></p></xsl:if>
	<xsl:if test="/page/why/@forecast_pending"><p>Estimated start: not known yet: it is being computed.</p></xsl:if>
	<xsl:if test="end/reason/procs/item">
		<h2>Its processes then</h2>
		<div class="scroll" tabindex="0" role="region" aria-label="Processes"><table class="fit">
			<thead><tr><th scope="col" class="figure">PID</th><th scope="col" class="figure">Size</th><th scope="col">Command</th></tr></thead>
			<tbody><xsl:for-each select="end/reason/procs/item">
				<tr><td class="figure"><xsl:value-of select="@pid"/></td>
				<td class="figure"><xsl:value-of select="f:bytes(@bytes, ../../@requested)"/></td><td><xsl:value-of select="@comm"/></td></tr>
			</xsl:for-each></tbody>
		</table></div>
	</xsl:if>

	<h2>Requested and used</h2>
	<div class="scroll" tabindex="0" role="region" aria-label="Requested and used"><table class="narrow">
		<thead><tr><th scope="col">Resource</th><th scope="col" class="figure">Requested</th><th scope="col" class="figure">Used, at most</th><th scope="col">Of the request</th></tr></thead>
		<tbody>
			<xsl:call-template name="resource">
				<xsl:with-param name="name">Cores</xsl:with-param>
				<xsl:with-param name="requested" select="$q/@ncpus"/>
				<xsl:with-param name="requested-text" select="f:count($q/@ncpus)"/>
				<xsl:with-param name="used" select="usage/@cpu_ns div @running_ns"/>
				<xsl:with-param name="used-text"><xsl:choose>
					<xsl:when test="usage/@cpu_ns and @running_ns &gt; 0"><xsl:value-of select="format-number(usage/@cpu_ns div @running_ns, '0.00')"/> on average</xsl:when>
					<xsl:otherwise>-</xsl:otherwise></xsl:choose></xsl:with-param>
			</xsl:call-template>
			<xsl:call-template name="resource">
				<xsl:with-param name="name">Address space (vmem)</xsl:with-param>
				<xsl:with-param name="requested" select="$q/@vmem_bytes"/>
				<xsl:with-param name="requested-text" select="f:bytes($q/@vmem_bytes, $q/@vmem_bytes)"/>
				<xsl:with-param name="used" select="usage/@vmem_peak_bytes"/>
				<xsl:with-param name="used-text" select="f:bytes(usage/@vmem_peak_bytes, $q/@vmem_bytes | $like[not($q/@vmem_bytes)])"/>
			</xsl:call-template>
			<xsl:call-template name="resource">
				<xsl:with-param name="name">Memory (mem)</xsl:with-param>
				<xsl:with-param name="requested" select="$q/@mem_bytes"/>
				<xsl:with-param name="requested-text" select="f:bytes($q/@mem_bytes, $q/@mem_bytes)"/>
				<xsl:with-param name="used" select="usage/@rss_peak_bytes"/>
				<xsl:with-param name="used-text" select="f:bytes(usage/@rss_peak_bytes, $q/@mem_bytes | $like[not($q/@mem_bytes)])"/>
			</xsl:call-template>
			<xsl:call-template name="resource">
				<xsl:with-param name="name">Disk (jobfs)</xsl:with-param>
				<xsl:with-param name="requested" select="$q/@jobfs_bytes"/>
				<xsl:with-param name="requested-text" select="f:bytes($q/@jobfs_bytes, $q/@jobfs_bytes)"/>
				<xsl:with-param name="used" select="usage/@jobfs_peak_bytes"/>
				<xsl:with-param name="used-text" select="f:bytes(usage/@jobfs_peak_bytes, $q/@jobfs_bytes | $like[not($q/@jobfs_bytes)])"/>
			</xsl:call-template>
			<xsl:call-template name="resource">
				<xsl:with-param name="name">Walltime</xsl:with-param>
				<xsl:with-param name="requested" select="$q/@walltime_s"/>
				<xsl:with-param name="requested-text" select="f:duration($q/@walltime_s)"/>
				<xsl:with-param name="used" select="@running_ns div 1000000000"/>
				<xsl:with-param name="used-text" select="f:duration-ns(@running_ns)"/>
			</xsl:call-template>
			<xsl:if test="$q/@ngpus"><tr><th scope="row">GPUs</th><td class="figure"><xsl:value-of select="$q/@ngpus"/></td><td class="figure">
				<xsl:value-of select="count(gpus/item)"/> given</td><td/></tr></xsl:if>
		</tbody>
	</table></div>
	<xsl:call-template name="timeline"/>
	<xsl:if test="@suspended_ns &gt; 0"><p>Suspended for <xsl:value-of select="f:duration-ns(@suspended_ns)"/> in all, which is not charged.</p></xsl:if>
	<xsl:if test="@note != ''"><p class="note">Note: <xsl:value-of select="@note"/></p></xsl:if>

	<xsl:call-template name="advice"/>
	<xsl:call-template name="cores"/>
	<xsl:call-template name="gpus"/>
	<xsl:call-template name="steps"/>
	<xsl:call-template name="cost"/>

	<h2>When and where</h2>
	<dl>
		<dt>Submitted</dt><dd><xsl:value-of select="f:time(@submitted_ns)"/></dd>
		<dt>Started</dt><dd><xsl:value-of select="f:time(@started_ns)"/></dd>
		<dt>Ended</dt><dd><xsl:value-of select="f:time(@ended_ns)"/></dd>
		<dt>Node</dt><dd><xsl:value-of select="@node"/><xsl:if test="@cpus != ''">, cores <xsl:value-of select="@cpus"/></xsl:if></dd>
		<dt>Command</dt><dd><code><xsl:for-each select="request/argv/item"><xsl:value-of select="@text"/><xsl:text> </xsl:text></xsl:for-each></code></dd>
	</dl>
	<xsl:if test="count(attempts/item) &gt; 1">
		<h2>Attempts</h2>
		<div class="scroll" tabindex="0" role="region" aria-label="Attempts"><table>
			<thead><tr><th scope="col" class="figure">Attempt</th><th scope="col">State</th><th scope="col">Node</th><th scope="col">Started</th><th scope="col">Ended</th><th scope="col" class="figure">Charged</th><th scope="col">End</th></tr></thead>
			<tbody><xsl:for-each select="attempts/item"><tr>
				<td class="figure"><xsl:value-of select="@attempt"/></td><td><xsl:call-template name="state"/></td><td><xsl:value-of select="@node"/></td>
				<td><xsl:value-of select="f:time(@started_ns)"/></td><td><xsl:value-of select="f:time(@ended_ns)"/></td>
				<td class="figure"><xsl:value-of select="f:hours(@charge_requested_ms)"/></td><td class="sentence"><xsl:value-of select="end/@line"/></td>
			</tr></xsl:for-each></tbody>
		</table></div>
	</xsl:if>
</xsl:template>

<xsl:template name="resource">
	<xsl:param name="name"/>
	<xsl:param name="requested"/>
	<xsl:param name="requested-text"/>
	<xsl:param name="used"/>
	<xsl:param name="used-text"/>
	<tr>
		<th scope="row"><xsl:value-of select="$name"/></th>
		<td class="figure"><xsl:value-of select="$requested-text"/></td>
		<td class="figure"><xsl:value-of select="$used-text"/></td>
		<td><span class="pair"><xsl:if test="$used-text != '-'"><xsl:value-of select="f:percent($used, $requested)"/></xsl:if></span>
		<xsl:if test="$used-text != '-'"><xsl:call-template name="bar">
			<xsl:with-param name="part" select="$used"/><xsl:with-param name="whole" select="$requested"/>
		</xsl:call-template></xsl:if></td>
	</tr>
</xsl:template>
</xsl:stylesheet>
